"""The control socket: lets whoever may open it look at a running node, and hold listeners open.

    rookery status ─ Unix socket, one JSON request a line ─▶ ControlServer ─▶ ControlledNode
                   ◀─ rows, one JSON object a line, and an end ─┘

The socket is its owner's alone (0600). It changes nothing in the node that outlasts a connection
but the outbox, to which requests can be added and whose requests can be cancelled; ping and trace
send packets for those who ask. What the lines say is in docs/protocol/control.md.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from pathlib import Path
from typing import Self, assert_never

from rookery.errors import (
    DecodeError,
    DeniedError,
    RookeryError,
    UnreachableError,
)
from rookery.identity.hashname import PREFIX_MIN, named_by
from rookery.runtime.control.listeners import WATCH_S, ListenerOpener, ResolvedListener
from rookery.runtime.control.messages import (
    AUTO,
    REQUEST_SIZE_MAX,
    ControlCommand,
    ControlEnd,
    ControlErrorCode,
    ControlRequest,
    answer_line,
    end_of,
    parse_request,
)
from rookery.runtime.control.streams import StreamOpener, carry
from rookery.runtime.control.unix_socket import listening
from rookery.runtime.node.members import Reachability
from rookery.runtime.node.snapshot import ControlledNode, ControlStreamOpened, MemberRow, Row
from rookery.runtime.outbox.queue_view import QueueView
from rookery.runtime.outbox.rows import QueueRow, RequestRow

_SHOWN_MAX = 5


def matching_peer(members: Iterable[MemberRow], text: str) -> MemberRow | ControlEnd:
    """The one other member of that name, or whose hashname begins so."""
    others = [member for member in members if member.reach is not Reachability.SELF]
    return _matching(others, text, "other member")


def matching_member(members: Iterable[MemberRow], text: str) -> MemberRow | ControlEnd:
    """The same, with this node included."""
    return _matching(list(members), text, "member")


def _matching(members: list[MemberRow], text: str, what: str) -> MemberRow | ControlEnd:
    found = named_by(text, members, lambda member: (member.node.name, member.node.hashname))
    if len(found) == 1:
        return found[0]
    if not found:
        known = _few(sorted(str(member.node) for member in members))
        more = ""
        if any(text and member.node.hashname.startswith(text) for member in members):
            more = f"; of a hashname, give {PREFIX_MIN} characters or more"
        return ControlEnd(
            False,
            ControlErrorCode.UNKNOWN_NODE,
            f"no {what} is called {text!r}; known: {known}{more}",
        )
    names = _few(sorted(member.node.hashname[:16] for member in found))
    return ControlEnd(
        False, ControlErrorCode.AMBIGUOUS_NODE, f"{text!r} may be any of {names}; say more of it"
    )


def _few(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN_MAX])
    more = len(names) - _SHOWN_MAX
    return f"{shown} and {more} more" if more > 0 else shown or "nobody yet"


def queue_rows(
    queues: QueueView, request: ControlRequest, host: str
) -> Iterator[QueueRow | RequestRow]:
    """The answer to a question about the outbox; `host` is the peer it names, if any."""
    match request.do:
        case ControlCommand.QUEUE:
            yield from queues.requests(host)
        case ControlCommand.QUEUE_ADD:
            yield queues.add(host, request.text.encode(), request.qos, request.expires_s)
        case ControlCommand.QUEUE_CANCEL:
            yield from queues.cancel(host, request.id)
        case _:
            yield from queues.rows()


FILE_NAME = "control.sock"
CLIENTS_MAX = 16
READ_S_MAX = 5.0  # for a client to receive a row
IDLE_S_MAX = 300.0  # between two requests

_BUFFER_SIZE = 1 << 18


class ControlServer:
    """One listening socket; make it with `bind`."""

    def __init__(
        self,
        node: ControlledNode,
        path: Path,
        listeners: ListenerOpener | None,
        streams: StreamOpener | None,
        queues: QueueView | None,
    ) -> None:
        self._node = node
        self._listeners = listeners
        self._streams = streams
        self._queues = queues
        self._path = path
        self._sock = listening(path)
        self._inode = path.stat().st_ino
        self._loop = asyncio.get_running_loop()
        self._clients: set[asyncio.Task[None]] = set()
        self._holding: set[asyncio.Task[None]] = set()  # bounded by the listeners they hold
        self._refusing: set[asyncio.Task[None]] = set()  # clients beyond the limit
        self._server: asyncio.Server | None = None

    @classmethod
    async def bind(
        cls,
        node: ControlledNode,
        path: Path,
        listeners: ListenerOpener | None = None,
        streams: StreamOpener | None = None,
        queues: QueueView | None = None,
    ) -> Self:
        """Listen there, replacing the socket of a node that is gone; UsageError when that fails."""
        control = cls(node, path, listeners, streams, queues)
        control._server = await asyncio.start_unix_server(
            control._accepted, sock=control._sock, limit=REQUEST_SIZE_MAX
        )
        return control

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        tasks = self._clients | self._holding | self._refusing
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._remove()

    def _remove(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            if self._path.stat().st_ino == self._inode:  # else another node has replaced it
                self._path.unlink()

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = _ControlConnection(
            self._node,
            reader,
            writer,
            self._listeners,
            self._streams,
            self._queues,
            self._set_aside,
        )
        if len(self._clients) < CLIENTS_MAX:
            self._own(self._clients, client.serve())
        elif len(self._refusing) < CLIENTS_MAX:
            self._own(self._refusing, client.refuse())
        else:
            writer.close()

    def _set_aside(self) -> None:
        """The client that runs holds listeners from now on: others may still look at the node."""
        task = asyncio.current_task()
        assert task is not None
        self._clients.discard(task)
        self._holding.add(task)
        task.add_done_callback(self._holding.discard)

    def _own(self, tasks: set[asyncio.Task[None]], work: Coroutine[object, object, None]) -> None:
        task = self._loop.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)


class _ControlConnection:
    """The requests of one connection, one after the other."""

    def __init__(
        self,
        node: ControlledNode,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        listeners: ListenerOpener | None,
        streams: StreamOpener | None,
        queues: QueueView | None,
        set_aside: Callable[[], None],
    ) -> None:
        self._node = node
        self._listeners = listeners
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
                end = request if isinstance(request, ControlEnd) else await self._rows(request)
                if end is None:
                    return
                await self._send(end)

    async def refuse(self) -> None:
        """Answer the first request with `busy`: there are too many clients."""
        async with self._conversation():
            await self._line(READ_S_MAX)
            text = f"{CLIENTS_MAX} programs look at this node already; end one of them"
            await self._send(ControlEnd(False, ControlErrorCode.BUSY, text))

    @contextlib.asynccontextmanager
    async def _conversation(self) -> AsyncIterator[None]:
        try:
            yield
        except DecodeError as error:
            self._writer.write(
                answer_line(ControlEnd(False, ControlErrorCode.BAD_REQUEST, str(error)))
            )
        except (OSError, TimeoutError):
            self._writer.transport.abort()  # gone, or too slow
        finally:
            self._writer.close()

    async def _line(self, patience_s: float) -> bytes:
        try:
            async with asyncio.timeout(patience_s):
                return await self._reader.readline()
        except ValueError as error:  # StreamReader raises it for a line that is too long
            raise DecodeError(f"a request has at most {REQUEST_SIZE_MAX} bytes") from error

    async def _rows(self, request: ControlRequest) -> ControlEnd | None:
        """Answer a request; None after a stream, which uses up the connection."""
        try:
            match request.do:
                case ControlCommand.EXPLAIN if request.source:
                    return await self._explain_from(request)
                case (
                    ControlCommand.PING
                    | ControlCommand.TRACE
                    | ControlCommand.EXPLAIN
                    | ControlCommand.BENCH
                ):
                    return await self._about(request)
                case ControlCommand.STREAM:
                    return await self._stream(request)
                case ControlCommand.LISTENERS:
                    return await self._hold_listeners(request)
                case (
                    ControlCommand.QUEUES
                    | ControlCommand.QUEUE
                    | ControlCommand.QUEUE_ADD
                    | ControlCommand.QUEUE_CANCEL
                ):
                    return await self._queue(request)
                case _:
                    for row in self._all(request.do):
                        await self._send(row)
                        await asyncio.sleep(0)  # let other tasks of the node run
        except RookeryError as error:
            return end_of(error)
        return ControlEnd()

    def _all(self, do: ControlCommand) -> Iterable[Row]:
        match do:
            case ControlCommand.STATUS:
                return (self._node.status(),)
            case ControlCommand.PEERS:
                return self._node.peers()
            case ControlCommand.ROUTES:
                return self._node.routes()
            case ControlCommand.MEMBERS:
                return self._node.members()
            case ControlCommand.COUNTERS:
                return (self._node.counters(),)
            case ControlCommand.NETCHECK:
                return self._node.netcheck()
            case ControlCommand.GRAPH:
                return self._node.graph()
            case (
                ControlCommand.PING
                | ControlCommand.TRACE
                | ControlCommand.EXPLAIN
                | ControlCommand.LISTENERS
                | ControlCommand.STREAM
                | ControlCommand.BENCH
            ):
                raise AssertionError("these are more than a look")
            case (
                ControlCommand.QUEUES
                | ControlCommand.QUEUE
                | ControlCommand.QUEUE_ADD
                | ControlCommand.QUEUE_CANCEL
            ):
                raise AssertionError("these are about the outbox")
        assert_never(do)

    async def _queue(self, request: ControlRequest) -> ControlEnd:
        """Rows of the outbox; adds or cancels requests."""
        if self._queues is None:
            raise DeniedError("this node has no outbox")
        host = ""
        if request.do is not ControlCommand.QUEUES:
            found = matching_peer(self._node.members(), request.node)
            if isinstance(found, ControlEnd):
                return found
            host = found.node.hashname
        for row in queue_rows(self._queues, request, host):
            await self._send(row)
        return ControlEnd()

    async def _about(self, request: ControlRequest) -> ControlEnd:
        found = matching_peer(self._node.members(), request.node)
        if isinstance(found, ControlEnd):
            return found
        async with contextlib.aclosing(self._about_node(request, found)) as rows:
            async for row in rows:
                await self._send(row)
        return ControlEnd()

    async def _explain_from(self, request: ControlRequest) -> ControlEnd:
        """Explain the route between any two members, this node included."""
        members = list(self._node.members())
        source, target = (
            matching_member(members, request.source),
            matching_member(members, request.node),
        )
        if isinstance(source, ControlEnd):
            return source
        if isinstance(target, ControlEnd):
            return target
        await self._send(self._node.explain(target.node.hashname, source.node.hashname))
        return ControlEnd()

    async def _about_node(self, request: ControlRequest, member: MemberRow) -> AsyncGenerator[Row]:
        hashname = member.node.hashname
        match request.do:
            case ControlCommand.BENCH:
                streams = self._reaching(member)
                bench = streams.bench(member.node, request.seconds, request.bytes)
                async with contextlib.aclosing(bench):
                    async for row in bench:
                        yield row
            case ControlCommand.PING:
                yield await self._node.ping(hashname, request.timeout_s)
            case ControlCommand.TRACE:
                async for hop in self._node.trace(hashname, request.probes, request.timeout_s):
                    yield hop
            case _:
                yield self._node.explain(hashname)

    def _reaching(self, member: MemberRow) -> StreamOpener:
        """The stream opener; refuse at once if the member cannot be reached."""
        if self._streams is None:
            raise DeniedError("this node opens no streams")
        if member.reach is Reachability.NONE:
            raise UnreachableError(f"there is no way to {member.node} now")
        return self._streams

    async def _stream(self, request: ControlRequest) -> ControlEnd | None:
        """Turn this connection into the stream, until both sides have ended it."""
        found = matching_peer(self._node.members(), request.node)
        if isinstance(found, ControlEnd):
            return found
        opening = self._reaching(found).opened(found.node.hashname, request.service, request.meta)
        async with opening as stream:
            self._set_aside()
            await self._send(ControlStreamOpened(to=found.node, service=request.service))
            await carry(stream, self._reader, self._writer)
        return None

    async def _hold_listeners(self, request: ControlRequest) -> ControlEnd:
        """Hold listeners until the client disconnects; what else it sends is dropped."""
        if self._listeners is None:
            return ControlEnd(False, ControlErrorCode.DENIED, "this node opens no listeners")
        wanted = []
        for one in request.listeners:
            found = None if one.exit == AUTO else matching_peer(self._node.members(), one.exit)
            if isinstance(found, ControlEnd):
                return found
            wanted.append(ResolvedListener(one, None if found is None else found.node))
        async with self._listeners.open(wanted) as held:
            self._set_aside()
            for row in held.opened:
                await self._send(row)
            while not self._reader.at_eof():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(WATCH_S):
                        await self._reader.read(REQUEST_SIZE_MAX)
                for trouble in held.troubles():
                    await self._send(trouble)
        return ControlEnd()

    async def _send(self, row: Row | ControlEnd) -> None:
        self._writer.write(answer_line(row))
        async with asyncio.timeout(READ_S_MAX):
            await self._writer.drain()
