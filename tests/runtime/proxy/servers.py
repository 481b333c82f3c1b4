"""Servers on this machine for connections to end at."""

import asyncio
import os
import pty
import tty
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from rookery.runtime.net.datagram_socket import QueuedDatagramSocket
from tests.patience import PATIENCE_S


@asynccontextmanager
async def echo_server() -> AsyncIterator[int]:
    """Answers everything at the end of its input, in capitals."""
    tasks: set[asyncio.Task[None]] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write((await reader.read()).upper())
            await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(answer(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def closed_port() -> AsyncIterator[int]:
    """A port on which nobody listens."""
    async with echo_server() as port:
        pass
    yield port


@asynccontextmanager
async def udp_echo() -> AsyncIterator[int]:
    """Answers every datagram, in capitals."""
    socket = await QueuedDatagramSocket.bind("127.0.0.1", 0)

    async def serve() -> None:
        while True:
            data, ip, port = await socket.receive()
            socket.send(data.upper(), (ip, port))

    task = asyncio.get_running_loop().create_task(serve())
    try:
        yield socket.address[1]
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        socket.close()


class Gadget:
    """What hangs on a serial line: a terminal whose master is ours."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._master, slave = pty.openpty()
        tty.setraw(slave)
        os.set_blocking(self._master, False)
        path.symlink_to(os.ttyname(slave))
        self._slave: int | None = slave  # held, or it would hang up before anybody opens it

    def unplug(self) -> None:
        """Pull it out: the name is gone, and whoever had it open hears so."""
        if self._slave is not None:
            self.path.unlink()
            os.close(self._slave)
            os.close(self._master)
            self._slave = None

    def write(self, data: bytes) -> None:
        os.write(self._master, data)

    async def read(self, size: int) -> bytes:
        data = b""
        async with asyncio.timeout(PATIENCE_S):
            while len(data) < size:
                try:
                    data += os.read(self._master, size - len(data))
                except BlockingIOError:
                    await self._readable()
        return data

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_reader(self._master, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self._master)


@contextmanager
def gadget(path: Path) -> Iterator[Gadget]:
    one = Gadget(path)
    try:
        yield one
    finally:
        one.unplug()
