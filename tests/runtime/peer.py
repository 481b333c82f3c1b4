"""The other end of a TCP connection, without any of our code: a plain socket."""

import asyncio
import socket
from types import TracebackType
from typing import Self

from rookery.wire.link.path import NetPath
from tests.patience import PATIENCE_S


class Peer:
    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._loop = asyncio.get_running_loop()

    @classmethod
    async def dial(cls, path: NetPath) -> Self:
        family = socket.AF_INET6 if ":" in path.ip else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(sock, path.address)
        return cls(sock)

    def path(self, carrier: str = "tcp") -> NetPath:
        ip, port, *rest = self._socket.getsockname()
        return NetPath(carrier + ("6" if rest else "4"), ip, port)

    async def send(self, data: bytes) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self._loop.sock_sendall(self._socket, data)

    async def read(self, size: int) -> bytes:
        """Exactly that many bytes."""
        data = b""
        async with asyncio.timeout(PATIENCE_S):
            while len(data) < size:
                part = await self._loop.sock_recv(self._socket, size - len(data))
                assert part, f"ended after {data!r}"
                data += part
        return data

    async def read_to_end(self) -> bytes:
        """All bytes until the other side closes or resets the connection."""
        data = b""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    part = await self._loop.sock_recv(self._socket, 1 << 16)
                except ConnectionResetError:
                    return data
                if not part:
                    return data
                data += part

    async def read_some(self) -> bytes:
        """What one read of the socket brings."""
        async with asyncio.timeout(PATIENCE_S):
            return await self._loop.sock_recv(self._socket, 1 << 20)

    def finish(self) -> None:
        """Say that nothing more will be sent."""
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._socket.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Listener:
    """Waits to be dialled on a loopback port."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen()
        self._socket.setblocking(False)

    @property
    def path(self) -> NetPath:
        return NetPath("tcp4", *self._socket.getsockname())

    async def accept(self) -> Peer:
        async with asyncio.timeout(PATIENCE_S):
            sock, _ = await asyncio.get_running_loop().sock_accept(self._socket)
        sock.setblocking(False)
        return Peer(sock)

    def close(self) -> None:
        self._socket.close()
