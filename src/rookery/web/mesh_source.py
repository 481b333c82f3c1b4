"""The node beside the hub, asked over its control socket about the whole mesh.

    pages, API, live ─▶ MeshSource ─ graph, explain, queue … ─▶ control socket of one node
                          │ remembers the graph for a second

A hundred pages cost one question: those who ask for the graph while it is being fetched wait for
the same answer. Whatever is wrong with the node is one kind of error, NodeAwayError, after bounded
time.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TypeVar

from rookery.errors import DeniedError, RemoteError, UnreachableError, UsageError
from rookery.runtime.control_client import ControlClient, connected
from rookery.runtime.control_lines import Do, Request
from rookery.runtime.graph_rows import GraphPart
from rookery.runtime.outbox.rows import QueueRow, RequestRow
from rookery.runtime.snapshot import Explained
from rookery.web.mesh_graph import ExplanationShown, Graph, Matrix, QueuedRequest, QueueShown
from rookery.web.mesh_matrix import MEMBERS_MAX, in_order, matrix_of, telling
from rookery.web.mesh_names import member_called
from rookery.web.mesh_shown import GraphBuilder, explanation_shown, queue_shown, request_shown
from rookery.web.node_away import NodeAwayError

ANSWER_S_MAX = 5.0  # for the whole of an answer
FRESH_S = 1.0
ASKED_AT_ONCE_MAX = 4  # of the node's 16 clients; people at its shell want some, too

Answer = TypeVar("Answer")


class MeshSource:
    """Asks the node whose control socket this is; connects for each question anew."""

    def __init__(
        self,
        control: Path,
        *,
        answer_s: float = ANSWER_S_MAX,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._control = control
        self._answer_s = answer_s
        self._clock = clock
        self._places = asyncio.Semaphore(ASKED_AT_ONCE_MAX)
        self._fetched: Graph | NodeAwayError = NodeAwayError("nobody has asked yet")
        self._fetched_at = float("-inf")
        self._fetching = asyncio.Lock()
        self._matrix: Matrix | None = None  # the last one, for those who ask for the same
        self._computing = asyncio.Lock()

    async def graph(self) -> Graph:
        """The whole mesh, at most a second old."""
        async with self._fetching:
            if self._clock() - self._fetched_at >= FRESH_S:
                self._fetched = await self._graph_or_error()
                self._fetched_at = self._clock()
        if isinstance(self._fetched, NodeAwayError):
            raise NodeAwayError(str(self._fetched))  # those who waited do not wait again
        return self._fetched

    async def _graph_or_error(self) -> Graph | NodeAwayError:
        try:
            return await self._asked(self._fetch)
        except NodeAwayError as error:
            return error

    async def matrix(self, names: Sequence[str] = (), site: str = "") -> Matrix:
        """Between these members, those of a site, or those that tell most of the mesh."""
        graph = await self.graph()
        if names:
            found = {member.hashname: member for member in (member_called(graph, n) for n in names)}
            chosen = in_order(found.values())
        elif site:
            chosen = in_order(member for member in graph.members if member.site == site)
        else:
            chosen = telling(graph)
        if len(chosen) > MEMBERS_MAX:
            raise UsageError(f"a matrix has at most {MEMBERS_MAX} members; name fewer")
        wanted = tuple(member.hashname for member in chosen)
        async with self._computing:
            last = self._matrix
            if last is None or last.at != graph.at or _hashnames(last) != wanted:
                last = self._matrix = await asyncio.to_thread(matrix_of, graph, chosen)
        return last

    async def explain(self, source: str, target: str) -> ExplanationShown:
        """Why packets from one member to another take their way; UsageError: no such members."""

        async def ask(client: ControlClient) -> ExplanationShown:
            request = Request(do=Do.EXPLAIN, node=target, source=source)
            return explanation_shown(await client.one(request, Explained), source, target)

        return await self._asked(ask)

    async def queues(self) -> list[QueueShown]:
        """One for each member that something waits for."""

        async def ask(client: ControlClient) -> list[QueueShown]:
            return [queue_shown(row) for row in await client.all(Request(do=Do.QUEUES), QueueRow)]

        return await self._asked(ask)

    async def queue(self, node: str) -> list[QueuedRequest]:
        """What waits for one member, oldest first; UsageError when there is no such member."""

        async def ask(client: ControlClient) -> list[QueuedRequest]:
            rows = await client.all(Request(do=Do.QUEUE, node=node), RequestRow)
            return [request_shown(row) for row in rows]

        return await self._asked(ask)

    async def cancel(self, node: str, id_: int) -> None:
        """Take one request back; UsageError when it is gone, or too late."""

        async def ask(client: ControlClient) -> None:
            await client.all(Request(do=Do.QUEUE_CANCEL, node=node, id=id_), RequestRow)

        await self._asked(ask)

    async def _fetch(self, client: ControlClient) -> Graph:
        builder = GraphBuilder()
        async for part in client.ask(Request(do=Do.GRAPH), GraphPart):
            builder.add(part)
            await asyncio.sleep(0)  # what has come already would be read without a pause
        return builder.graph()

    async def _asked(self, ask: Callable[[ControlClient], Awaitable[Answer]]) -> Answer:
        try:
            async with asyncio.timeout(self._answer_s), self._places, self._connected() as client:
                return await ask(client)
        except TimeoutError as error:
            text = f"the node at {self._control} takes more than {self._answer_s:g} s to answer"
            raise NodeAwayError(text) from error
        except RemoteError as error:
            text = f"the node at {self._control} does not answer as it should: {error}"
            raise NodeAwayError(text) from error
        except UnreachableError as error:
            raise NodeAwayError(str(error)) from error

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[ControlClient]:
        """Not being let in is its being away; what it denies later is an answer."""
        async with AsyncExitStack() as stack:
            try:
                connecting = connected(self._control, self._answer_s)
                client = await stack.enter_async_context(connecting)
            except DeniedError as error:
                raise NodeAwayError(str(error)) from error
            yield client


def _hashnames(matrix: Matrix) -> tuple[str, ...]:
    return tuple(member.hashname for member in matrix.members)
