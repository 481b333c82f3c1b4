"""A small SOCKS5 proxy that knows its hosts by heart, as Tor knows hidden services."""

import asyncio
from types import TracebackType
from typing import Self


class SocksProxy:
    """`hosts` maps names to the local ports they stand for; all others are unreachable."""

    def __init__(self) -> None:
        self.hosts: dict[bytes, int] = {}
        self.requests: list[tuple[bytes, int]] = []
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address: tuple[str, int] = self._server.sockets[0].getsockname()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()
        self.cut()
        await self._server.wait_closed()

    def cut(self) -> None:
        """End every connection that passes through."""
        for writer in self._writers:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            version, methods = await reader.readexactly(2)
            await reader.readexactly(methods)
            assert version == 5
            writer.write(b"\x05\x00")
            assert await reader.readexactly(4) == b"\x05\x01\x00\x03"
            host = await reader.readexactly((await reader.readexactly(1))[0])
            port = int.from_bytes(await reader.readexactly(2), "big")
            self.requests.append((host, port))
            if host not in self.hosts:
                writer.write(b"\x05\x04\x00\x01" + bytes(6))
                return
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.hosts[host])
            self._writers.add(far_writer)
            writer.write(b"\x05\x00\x00\x01" + bytes(6))
            async with asyncio.TaskGroup() as both:
                both.create_task(_carry(reader, far_writer))
                both.create_task(_carry(far_reader, writer))
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(4096):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
