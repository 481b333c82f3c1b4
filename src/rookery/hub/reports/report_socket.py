"""Report socket: the UDP socket that receives reports.

It reads while the flow keeps up. Otherwise datagrams stay in the socket and the kernel drops those
that do not fit: no drop is cheaper, and senders repeat what is not acknowledged.
"""

import asyncio
import socket
from collections.abc import Callable

from rookery.hub.reports.datagram_socket import BATCH_MAX, Address, datagram_socket, dropped
from rookery.runtime.net.address import bound_socket

READS_MAX = 4  # of a batch, before others have their turn
PAUSE_S = 0.002

Offer = Callable[[list[bytes], list[Address]], None]


class ReportSocket:
    """`await ReportSocket.bind(…)`, then `read` into a flow."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._port = datagram_socket(sock)
        self._loop = asyncio.get_running_loop()
        self._offer: Offer | None = None
        self._is_full: Callable[[], bool] = bool
        self._pause: asyncio.TimerHandle | None = None
        self.pauses = 0

    @classmethod
    async def bind(cls, host: str, port: int) -> "ReportSocket":
        """UsageError if that cannot be."""
        return cls(await bound_socket(socket.SOCK_DGRAM, host, port))

    @property
    def address(self) -> tuple[str, int]:
        ip, port, *_ = self._socket.getsockname()
        return ip, port

    @property
    def dropped(self) -> int:
        return dropped(self._socket)

    def read(self, offer: Offer, is_full: Callable[[], bool]) -> None:
        """Offer everything that comes, except while the flow is full."""
        self._offer, self._is_full = offer, is_full
        self._loop.add_reader(self._socket, self._readable)

    def send(self, datagrams: list[bytes], addresses: list[Address]) -> int:
        """How many of them the system took."""
        return self._port.send(datagrams, addresses)

    def stop(self) -> None:
        """Stop reading; answers can still be sent."""
        self._loop.remove_reader(self._socket)
        if self._pause is not None:
            self._pause.cancel()

    def close(self) -> None:
        self.stop()
        self._socket.close()

    def _readable(self) -> None:
        assert self._offer is not None
        for _ in range(READS_MAX):
            datagrams, addresses = self._port.receive()
            if datagrams:
                self._offer(datagrams, addresses)
            if len(datagrams) < BATCH_MAX:
                return
        if self._is_full():
            self.pauses += 1
            self._loop.remove_reader(self._socket)
            self._pause = self._loop.call_later(PAUSE_S, self._resume)

    def _resume(self) -> None:
        if self._is_full():
            self._pause = self._loop.call_later(PAUSE_S, self._resume)
        else:
            self._loop.add_reader(self._socket, self._readable)
