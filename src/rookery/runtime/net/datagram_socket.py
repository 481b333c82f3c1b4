"""A UDP socket as a bounded queue; datagrams that are not read in time are dropped."""

import asyncio
import socket
from typing import NamedTuple

from rookery.errors import UnreachableError

QUEUE_MAX = 64
QUEUE_SIZE_MAX = 1 << 18  # bytes; a few of the largest datagrams would otherwise be megabytes


class ReceivedDatagram(NamedTuple):
    data: bytes
    ip: str
    port: int


class QueuedDatagramSocket(asyncio.DatagramProtocol):
    """Built by `connect` or `bind`."""

    def __init__(self) -> None:
        self.dropped = 0
        self._queue: asyncio.Queue[ReceivedDatagram] = asyncio.Queue(QUEUE_MAX)
        self._queue_size = 0
        self._transport: asyncio.DatagramTransport | None = None

    @classmethod
    async def connect(cls, ip: str, port: int) -> "QueuedDatagramSocket":
        """A socket that talks to one address only."""
        loop = asyncio.get_running_loop()
        try:
            _, connected = await loop.create_datagram_endpoint(cls, remote_addr=(ip, port))
        except OSError as error:
            raise UnreachableError(f"udp {ip}:{port}: {error.strerror}") from error
        return connected

    @classmethod
    async def bind(cls, ip: str, port: int) -> "QueuedDatagramSocket":
        """A socket on a local port; OSError when it is taken."""
        loop = asyncio.get_running_loop()
        _, bound = await loop.create_datagram_endpoint(cls, local_addr=(ip, port))
        return bound

    @classmethod
    async def adopt(cls, sock: socket.socket) -> "QueuedDatagramSocket":
        """Take over a socket that is already bound."""
        loop = asyncio.get_running_loop()
        _, adopted = await loop.create_datagram_endpoint(cls, sock=sock)
        return adopted

    @property
    def address(self) -> tuple[str, int]:
        """The local address."""
        assert self._transport is not None
        name = self._transport.get_extra_info("sockname")
        return str(name[0]), int(name[1])

    def send(self, data: bytes, to: tuple[str, int] | None = None) -> None:
        assert self._transport is not None
        if not self._transport.is_closing():
            self._transport.sendto(data, to)

    async def receive(self) -> ReceivedDatagram:
        datagram = await self._queue.get()
        self._queue_size -= len(datagram.data)
        return datagram

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        if self._queue.full() or self._queue_size + len(data) > QUEUE_SIZE_MAX:
            self.dropped += 1
            return
        self._queue_size += len(data)
        self._queue.put_nowait(ReceivedDatagram(data, str(addr[0]), int(addr[1])))

    def error_received(self, exc: Exception) -> None:
        """Ignore ICMP errors: for UDP they mean a lost datagram and no more."""
        self.dropped += 1
