"""The control socket: lets whoever may open it look at a running node, and hold doors open.

    rookery status ─ Unix socket, one JSON request a line ─▶ Control ─▶ Controlled (the node)
                   ◀─ rows, one JSON object a line, and an end ─┘

The socket is its owner's alone (0600). It changes nothing in the node that outlasts a connection
but the outbox, to which requests can be added and whose requests can be cancelled; ping and trace
send packets for those who ask. What the lines say is in docs/protocol/control.md.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable
from pathlib import Path
from typing import Self, assert_never

from rookery.errors import (
    DecodeError,
    DeniedError,
    RookeryError,
    UnreachableError,
)
from rookery.runtime.control_doors import WATCH_S, DoorKeeper, Wanted
from rookery.runtime.control_lines import (
    AUTO,
    REQUEST_SIZE_MAX,
    Code,
    Do,
    End,
    Request,
    answer_line,
    end_of,
    parse_request,
)
from rookery.runtime.control_names import among_all, matching
from rookery.runtime.control_queues import queue_rows
from rookery.runtime.control_socket import listening
from rookery.runtime.control_streams import StreamKeeper, carry
from rookery.runtime.outbox.queues import Queues
from rookery.runtime.snapshot import Controlled, Member, Reach, Row, StreamOpened

FILE_NAME = "control.sock"
CLIENTS_MAX = 16
READ_S_MAX = 5.0  # for a client to take what it asked for
IDLE_S_MAX = 300.0  # between two questions

_BUFFER_SIZE = 1 << 18


class Control:
    """One listening socket; make it with `bind`."""

    def __init__(
        self,
        node: Controlled,
        path: Path,
        doors: DoorKeeper | None,
        streams: StreamKeeper | None,
        queues: Queues | None,
    ) -> None:
        self._node = node
        self._doors = doors
        self._streams = streams
        self._queues = queues
        self._path = path
        self._sock = listening(path)
        self._inode = path.stat().st_ino
        self._loop = asyncio.get_running_loop()
        self._clients: set[asyncio.Task[None]] = set()
        self._holding: set[asyncio.Task[None]] = set()  # doors, which have a bound of their own
        self._refused: set[asyncio.Task[None]] = set()  # hear so, and are gone
        self._server: asyncio.Server | None = None

    @classmethod
    async def bind(
        cls,
        node: Controlled,
        path: Path,
        doors: DoorKeeper | None = None,
        streams: StreamKeeper | None = None,
        queues: Queues | None = None,
    ) -> Self:
        """Listen there, in place of a node that is gone; UsageError when that cannot be."""
        control = cls(node, path, doors, streams, queues)
        control._server = await asyncio.start_unix_server(
            control._accepted, sock=control._sock, limit=REQUEST_SIZE_MAX
        )
        return control

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        tasks = self._clients | self._holding | self._refused
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._remove()

    def _remove(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            if self._path.stat().st_ino == self._inode:  # else somebody has taken our place
                self._path.unlink()

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = _Client(
            self._node,
            reader,
            writer,
            self._doors,
            self._streams,
            self._queues,
            self._set_aside,
        )
        if len(self._clients) < CLIENTS_MAX:
            self._own(self._clients, client.serve())
        elif len(self._refused) < CLIENTS_MAX:
            self._own(self._refused, client.refuse())
        else:
            writer.close()

    def _set_aside(self) -> None:
        """The client that runs holds doors from now on: others may still look at the node."""
        task = asyncio.current_task()
        assert task is not None
        self._clients.discard(task)
        self._holding.add(task)
        task.add_done_callback(self._holding.discard)

    def _own(self, tasks: set[asyncio.Task[None]], work: Coroutine[object, object, None]) -> None:
        task = self._loop.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)


class _Client:
    """The questions of one connection, one after the other."""

    def __init__(
        self,
        node: Controlled,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        doors: DoorKeeper | None,
        streams: StreamKeeper | None,
        queues: Queues | None,
        set_aside: Callable[[], None],
    ) -> None:
        self._node = node
        self._doors = doors
        self._streams = streams
        self._queues = queues
        self._set_aside = set_aside
        self._reader = reader
        self._writer = writer
        writer.transport.set_write_buffer_limits(high=_BUFFER_SIZE)

    async def serve(self) -> None:
        async with self._conversation():
            while line := await self._line(IDLE_S_MAX):
                request = parse_request(line)
                end = request if isinstance(request, End) else await self._rows(request)
                if end is None:
                    return
                await self._send(end)

    async def refuse(self) -> None:
        """There are too many: say so to the first question, which also keeps it readable."""
        async with self._conversation():
            await self._line(READ_S_MAX)
            text = f"{CLIENTS_MAX} programs look at this node already; end one of them"
            await self._send(End(False, Code.BUSY, text))

    @contextlib.asynccontextmanager
    async def _conversation(self) -> AsyncIterator[None]:
        try:
            yield
        except DecodeError as error:
            self._writer.write(answer_line(End(False, Code.BAD_REQUEST, str(error))))
        except (OSError, TimeoutError):
            self._writer.transport.abort()  # gone, or too slow: nothing is kept for it
        finally:
            self._writer.close()

    async def _line(self, patience_s: float) -> bytes:
        try:
            async with asyncio.timeout(patience_s):
                return await self._reader.readline()
        except ValueError as error:  # so StreamReader says that it is too long
            raise DecodeError(f"a request has at most {REQUEST_SIZE_MAX} bytes") from error

    async def _rows(self, request: Request) -> End | None:
        """None after a stream: the connection has had its time."""
        try:
            match request.do:
                case Do.EXPLAIN if request.source:
                    return await self._explain_from(request)
                case Do.PING | Do.TRACE | Do.EXPLAIN | Do.BENCH:
                    return await self._about(request)
                case Do.STREAM:
                    return await self._stream(request)
                case Do.DOORS:
                    return await self._hold_doors(request)
                case Do.QUEUES | Do.QUEUE | Do.QUEUE_ADD | Do.QUEUE_CANCEL:
                    return await self._queue(request)
                case _:
                    for row in self._all(request.do):
                        await self._send(row)
                        await asyncio.sleep(0)  # the node has other things to do, too
        except RookeryError as error:
            return end_of(error)
        return End()

    def _all(self, do: Do) -> Iterable[Row]:
        match do:
            case Do.STATUS:
                return (self._node.status(),)
            case Do.PEERS:
                return self._node.peers()
            case Do.ROUTES:
                return self._node.routes()
            case Do.MEMBERS:
                return self._node.members()
            case Do.COUNTERS:
                return (self._node.counters(),)
            case Do.NETCHECK:
                return self._node.netcheck()
            case Do.GRAPH:
                return self._node.graph()
            case Do.PING | Do.TRACE | Do.EXPLAIN | Do.DOORS | Do.STREAM | Do.BENCH:
                raise AssertionError("these are more than a look")
            case Do.QUEUES | Do.QUEUE | Do.QUEUE_ADD | Do.QUEUE_CANCEL:
                raise AssertionError("these are about the outbox")
        assert_never(do)

    async def _queue(self, request: Request) -> End:
        """What waits for others, and what shall not any more."""
        if self._queues is None:
            raise DeniedError("this node has no outbox")
        host = ""
        if request.do is not Do.QUEUES:
            found = matching(self._node.members(), request.node)
            if isinstance(found, End):
                return found
            host = found.node.hashname
        for row in queue_rows(self._queues, request, host):
            await self._send(row)
        return End()

    async def _about(self, request: Request) -> End:
        found = matching(self._node.members(), request.node)
        if isinstance(found, End):
            return found
        async with contextlib.aclosing(self._about_node(request, found)) as rows:
            async for row in rows:
                await self._send(row)
        return End()

    async def _explain_from(self, request: Request) -> End:
        """The way between any two members, this node among them."""
        members = list(self._node.members())
        source, target = among_all(members, request.source), among_all(members, request.node)
        if isinstance(source, End):
            return source
        if isinstance(target, End):
            return target
        await self._send(self._node.explain(target.node.hashname, source.node.hashname))
        return End()

    async def _about_node(self, request: Request, member: Member) -> AsyncGenerator[Row]:
        hashname = member.node.hashname
        match request.do:
            case Do.BENCH:
                streams = self._reaching(member)
                bench = streams.bench(member.node, request.seconds, request.bytes)
                async with contextlib.aclosing(bench):
                    async for row in bench:
                        yield row
            case Do.PING:
                yield await self._node.ping(hashname, request.timeout_s)
            case Do.TRACE:
                async for hop in self._node.trace(hashname, request.probes, request.timeout_s):
                    yield hop
            case _:
                yield self._node.explain(hashname)

    def _reaching(self, member: Member) -> StreamKeeper:
        """Better refused now than waited for: nothing leads there."""
        if self._streams is None:
            raise DeniedError("this node opens no streams")
        if member.reach is Reach.NONE:
            raise UnreachableError(f"there is no way to {member.node} now")
        return self._streams

    async def _stream(self, request: Request) -> End | None:
        """From here on this connection is the stream, until both sides have ended it."""
        found = matching(self._node.members(), request.node)
        if isinstance(found, End):
            return found
        opening = self._reaching(found).opened(found.node.hashname, request.service, request.meta)
        async with opening as stream:
            self._set_aside()
            await self._send(StreamOpened(to=found.node, service=request.service))
            await carry(stream, self._reader, self._writer)
        return None

    async def _hold_doors(self, request: Request) -> End:
        """Until the client goes; whatever else it sends is dropped."""
        if self._doors is None:
            return End(False, Code.DENIED, "this node opens no doors")
        wanted = []
        for door in request.doors:
            found = None if door.exit == AUTO else matching(self._node.members(), door.exit)
            if isinstance(found, End):
                return found
            wanted.append(Wanted(door, None if found is None else found.node))
        async with self._doors.open(wanted) as held:
            self._set_aside()
            for row in held.opened:
                await self._send(row)
            while not self._reader.at_eof():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(WATCH_S):
                        await self._reader.read(REQUEST_SIZE_MAX)
                for trouble in held.troubles():
                    await self._send(trouble)
        return End()

    async def _send(self, row: Row | End) -> None:
        self._writer.write(answer_line(row))
        async with asyncio.timeout(READ_S_MAX):
            await self._writer.drain()
