"""The client of a control socket: sends requests to a node on this machine."""

import asyncio
import errno
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from rookery.errors import DeniedError, ProtocolError, UnreachableError
from rookery.runtime.bench.report import BenchProgress, BenchReport
from rookery.runtime.control.messages import (
    ROW_SIZE_MAX,
    TIMEOUT_S_DEFAULT,
    ControlCommand,
    ControlEnd,
    ControlRequest,
    error_of,
    parse_answer,
    request_line,
)
from rookery.runtime.control.unix_socket import LocalStream, reachable
from rookery.runtime.node.members import NodeName
from rookery.runtime.node.snapshot import ControlStreamOpened, ListenerOpened, ListenerTrouble, Row

RowType = TypeVar("RowType", bound=Row)


class ControlClient:
    """A connection to a node; `connected` makes it."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        path: Path,
        timeout_s: float,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._path = path
        self._timeout_s = timeout_s

    async def ask(
        self, request: ControlRequest, kind: type[RowType], *, patience_s: float = 0.0
    ) -> AsyncIterator[RowType]:
        """The rows of an answer as they come, to be read to their end.

        `patience_s` is how long the node itself may wait for others before each of them.
        """
        limit_s = self._timeout_s + patience_s
        async for row in self._answer(request, limit_s, limit_s):
            if not isinstance(row, kind):
                raise ProtocolError(f"the node answers with a {type(row).__name__}")
            yield row

    async def all(self, request: ControlRequest, kind: type[RowType]) -> list[RowType]:
        return [row async for row in self.ask(request, kind)]

    async def one(
        self, request: ControlRequest, kind: type[RowType], *, patience_s: float = 0.0
    ) -> RowType:
        """The only row of an answer."""
        rows = [row async for row in self.ask(request, kind, patience_s=patience_s)]
        if len(rows) != 1:
            raise ProtocolError(f"the node answers with {len(rows)} rows instead of one")
        return rows[0]

    async def hold(
        self, request: ControlRequest, *, patience_s: float
    ) -> AsyncIterator[ListenerOpened | ListenerTrouble]:
        """The requested listeners, then their troubles as they occur, without end.

        They stand open until the connection ends, this one's or the node's.
        """
        async for row in self._answer(request, self._timeout_s + patience_s, None):
            if not isinstance(row, ListenerOpened | ListenerTrouble):
                raise ProtocolError(f"the node answers with a {type(row).__name__}")
            yield row

    async def bench(
        self, request: ControlRequest, *, patience_s: float
    ) -> AsyncIterator[BenchProgress | BenchReport]:
        """The progress of a bench, and in the end its report."""
        limit_s = self._timeout_s + patience_s
        async for row in self._answer(request, limit_s, limit_s):
            if not isinstance(row, BenchProgress | BenchReport):
                raise ProtocolError(f"the node answers with a {type(row).__name__}")
            yield row

    async def stream(
        self, node: str, service: str, meta: Mapping[str, object]
    ) -> tuple[LocalStream, NodeName]:
        """Turn this connection into a stream to a member's service; returns it and the member."""
        request = ControlRequest(
            do=ControlCommand.STREAM, node=node, service=service, meta=dict(meta)
        )
        async for row in self._answer(request, self._timeout_s, self._timeout_s):
            if isinstance(row, ControlStreamOpened):
                return LocalStream(self._reader, self._writer), row.to
            break
        raise ProtocolError("the node opens no stream")

    def close(self) -> None:
        self._writer.close()

    async def _answer(
        self, request: ControlRequest, first_s: float, later_s: float | None
    ) -> AsyncIterator[Row]:
        limit_s: float | None = first_s
        try:
            self._writer.write(request_line(request))
            while not isinstance(row := await self._row(limit_s), ControlEnd):
                limit_s = later_s
                yield row
        except OSError as error:
            raise UnreachableError(f"the node at {self._path} has just ended") from error
        if not row.ok:
            raise error_of(row)

    async def _row(self, limit_s: float | None) -> Row | ControlEnd:
        try:
            async with asyncio.timeout(limit_s):
                line = await self._reader.readline()
        except TimeoutError as error:
            text = f"the node at {self._path} does not answer; is it stopped or very busy?"
            raise UnreachableError(text) from error
        except ValueError as error:
            raise ProtocolError("the node answers with an endless line") from error
        if not line.endswith(b"\n"):
            raise UnreachableError(f"the node at {self._path} has just ended")
        return parse_answer(line)


@asynccontextmanager
async def connected(
    path: Path, timeout_s: float = TIMEOUT_S_DEFAULT
) -> AsyncIterator[ControlClient]:
    """A connection to the node whose control socket this is."""
    try:
        # Not `wait_for`, in which Python 3.11 may lose a cancellation.
        with reachable(path) as address:
            async with asyncio.timeout(timeout_s):
                reader, writer = await asyncio.open_unix_connection(address, limit=ROW_SIZE_MAX)
    except PermissionError as error:
        text = f"{path} belongs to another user; ask as the one whose node it is"
        raise DeniedError(text) from error
    except TimeoutError as error:
        text = f"the node at {path} does not answer; is it stopped or very busy?"
        raise UnreachableError(text) from error
    except OSError as error:
        raise UnreachableError(_why_not(path, error)) from error
    client = ControlClient(reader, writer, path, timeout_s)
    try:
        yield client
    finally:
        client.close()


def _why_not(path: Path, error: OSError) -> str:
    advice = "start one with: rookery node --id DIR …, or say where it is with --id or --control"
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ECONNREFUSED):
        return f"no node is running at {path}; {advice}"
    return f"no node can be asked at {path}: {error.strerror}; {advice}"
