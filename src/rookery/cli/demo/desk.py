"""The desk: where another terminal asks the demo for its incident. One line each way.

{"do": "begin"} ──▶     ◀── {"text": "berlin-relay is dead; …", "is_over": false}
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from rookery.cli.demo.incident import Incident, Told
from rookery.errors import UnreachableError
from rookery.runtime.control_socket import listening, reachable

ANSWER_S = 30.0

_LINE_SIZE_MAX = 4096


class Asked(msgspec.Struct, frozen=True):
    do: Literal["begin", "end"]


class Desk:
    """Carries out what is asked for, one thing at a time."""

    def __init__(self, incident: Incident, tell: Callable[[Told], None]) -> None:
        self._incident = incident
        self._tell = tell
        self._one_at_a_time = asyncio.Lock()
        self._is_over = True

    async def carry_out(self, asked: Asked) -> Told:
        async with self._one_at_a_time:
            is_begun = asked.do == "begin"
            told = await (self._incident.begin() if is_begun else self._incident.end())
            self._is_over = told.is_over
            self._tell(told)
            return told

    async def turn(self) -> Told:
        """Let it happen, or end it."""
        return await self.carry_out(Asked("begin" if self._is_over else "end"))


@asynccontextmanager
async def attended(desk: Desk, path: Path) -> AsyncIterator[None]:
    """While it lasts, others can ask at the socket."""
    with _bound(path) as bound:
        server = await asyncio.start_unix_server(
            _answering(desk.carry_out), sock=bound, limit=_LINE_SIZE_MAX
        )
        try:
            yield
        finally:
            server.close()


@contextmanager
def _bound(path: Path) -> Iterator[socket.socket]:
    """Gone from the folder afterwards."""
    bound = listening(path)
    try:
        yield bound
    finally:
        path.unlink(missing_ok=True)


def _answering(
    carry_out: Callable[[Asked], Awaitable[Told]],
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            asked = msgspec.json.decode(await reader.readline(), type=Asked)
            writer.write(msgspec.json.encode(await carry_out(asked)) + b"\n")
            await writer.drain()
        except (msgspec.DecodeError, ValueError, OSError):
            pass  # only this user's own programs get here; one that talks nonsense gets no answer
        finally:
            writer.close()

    return answer


async def ask(path: Path, asked: Asked) -> Told:
    """UnreachableError where no demo runs."""
    try:
        async with asyncio.timeout(ANSWER_S):
            with reachable(path) as address:
                reader, writer = await asyncio.open_unix_connection(address)
            writer.write(msgspec.json.encode(asked) + b"\n")
            line = await reader.readline()
            writer.close()
        return msgspec.json.decode(line, type=Told)
    except (OSError, TimeoutError, msgspec.DecodeError) as error:
        raise UnreachableError(
            f"no demo answers at {path}; start one with: rookery demo"
        ) from error
