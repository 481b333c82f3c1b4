"""A TCP connection as a byte stream."""

import asyncio
import socket
from collections.abc import Mapping

from rookery.errors import ChannelError
from rookery.link.channels.sock import Address
from rookery.mesh.proxy.fault import Fault
from rookery.runtime.channels.sock_carry import close, reset
from rookery.runtime.gates.address import keep_alive

_NO_META: dict[str, object] = {}


class SocketStream:
    """Over the two halves that asyncio makes of a socket."""

    peer = ""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        sock = writer.get_extra_info("socket")
        if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            keep_alive(sock)

    @classmethod
    async def connect(cls, ip: str, port: int) -> "SocketStream":
        """To this very address; OSError when that fails."""
        return cls(*await asyncio.open_connection(ip, port))

    @property
    def meta(self) -> Mapping[str, object]:
        return _NO_META

    @property
    def remote(self) -> Address:
        return _address(self._writer, "peername")

    @property
    def local(self) -> Address:
        return _address(self._writer, "sockname")

    async def read(self, size: int) -> bytes:
        try:
            return await self._reader.read(size)
        except OSError as error:
            raise ChannelError(Fault.GONE.value) from error

    async def write(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError as error:
            raise ChannelError(Fault.GONE.value) from error

    async def finish(self) -> None:
        if not self._writer.is_closing():
            try:
                self._writer.write_eof()
            except OSError as error:
                raise ChannelError(Fault.GONE.value) from error

    def abort(self, code: int) -> None:
        """A TCP reset, which no program takes for an orderly end."""
        reset(self._writer)

    async def close(self) -> None:
        """Let go of the socket; what was written still goes out."""
        await close(self._writer)


def _address(writer: asyncio.StreamWriter, key: str) -> Address:
    name = writer.get_extra_info(key)
    return Address(str(name[0]), int(name[1])) if name else Address("0.0.0.0", 0)  # noqa: S104
