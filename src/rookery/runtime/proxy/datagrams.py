"""Datagrams to one address: the same object whether a socket is here or at an exit."""

from collections import deque
from typing import Protocol

from rookery.errors import ChannelError
from rookery.link.channels.sock import SockAddress
from rookery.mesh.proxy.datagram_frame import DATAGRAM_SIZE_MAX, DatagramDeframer, frame_datagram
from rookery.mesh.proxy.fault import ProxyFault
from rookery.runtime.net.datagram_socket import QueuedDatagramSocket
from rookery.runtime.proxy.connection import leave
from rookery.runtime.tunnels.member_stream import READ_SIZE, TunnelledStream


class ProxyDatagrams(Protocol):
    """Datagrams to one address; as with UDP, any may get lost."""

    @property
    def reached(self) -> SockAddress | None:
        """The destination."""

    @property
    def exit(self) -> str | None:
        """The exit that has the socket; None for a local one."""

    @property
    def is_stalled(self) -> bool:
        """True while the exit is out of reach."""

    async def send(self, data: bytes) -> None: ...

    async def receive(self) -> bytes | None:
        """The next one; None once the exit has closed the socket."""

    async def close(self) -> None: ...


class SocketDatagrams:
    """Datagrams through a local socket."""

    exit: str | None = None
    is_stalled = False

    def __init__(self, socket: QueuedDatagramSocket, reached: SockAddress) -> None:
        self.reached: SockAddress | None = reached
        self._socket = socket

    async def send(self, data: bytes) -> None:
        frame_datagram(data)  # check the size limit, as at an exit
        self._socket.send(data)

    async def receive(self) -> bytes | None:
        return (await self._socket.receive()).data

    async def close(self) -> None:
        self._socket.close()


class StreamDatagrams:
    """Datagrams framed within a stream to an exit."""

    def __init__(
        self, stream: TunnelledStream, reached: SockAddress | None = None, exit_: str | None = None
    ) -> None:
        self.reached = reached
        self.exit = exit_
        self._stream = stream
        self._deframer = DatagramDeframer()
        self._ready: deque[bytes] = deque()

    @property
    def is_stalled(self) -> bool:
        return self._stream.is_stalled

    async def send(self, data: bytes) -> None:
        await self._stream.write(frame_datagram(data))

    async def receive(self) -> bytes | None:
        while not self._ready:
            data = await self._stream.read(READ_SIZE)
            if not data:
                return None
            self._ready.extend(self._deframer.feed(data))
        data = self._ready.popleft()
        if len(data) > DATAGRAM_SIZE_MAX:
            self._stream.abort(ProxyFault.INVALID.code)
            raise ChannelError("a datagram larger than any")
        return data

    async def close(self) -> None:
        if self._stream.is_stalled:
            self._stream.abort(ProxyFault.GONE.code)
        else:
            await leave(self._stream)
