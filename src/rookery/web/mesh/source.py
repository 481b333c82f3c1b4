"""The mesh as the hub's mesh node knows it, read over its control socket.

    pages, API, live ─▶ MeshSource ─ graph, explain, queue … ─▶ control socket of one node
                          │ remembers the graph for a second

Concurrent requests for the graph share one fetch. All faults of the node become
NodeUnavailableError, after bounded time.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TypeVar

from rookery.errors import DeniedError, RemoteError, UnreachableError, UsageError
from rookery.runtime.control.client import ControlClient, connected
from rookery.runtime.control.messages import ControlCommand, ControlRequest
from rookery.runtime.node.members import GraphPart
from rookery.runtime.node.snapshot import ExplanationRow
from rookery.runtime.outbox.rows import QueueRow, RequestRow
from rookery.web.http.problems import NodeUnavailableError
from rookery.web.mesh.control_rows import (
    MeshGraphBuilder,
    explanation_shown,
    queue_shown,
    request_shown,
)
from rookery.web.mesh.graph import (
    MeshGraphShown,
    MeshMatrix,
    MeshRouteExplanation,
    QueuedRequest,
    QueueShown,
    member_by_name,
)
from rookery.web.mesh.matrix import MEMBERS_MAX, in_order, matrix_of, most_linked

ANSWER_S_MAX = 5.0  # for a whole answer
FRESH_S = 1.0
CONCURRENT_MAX = 4  # of the node's 16 clients, to leave some to its shell

Answer = TypeVar("Answer")


class MeshSource:
    """Client of one control socket; connects anew for each request."""

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
        self._places = asyncio.Semaphore(CONCURRENT_MAX)
        self._fetched: MeshGraphShown | NodeUnavailableError = NodeUnavailableError(
            "not fetched yet"
        )
        self._fetched_at = float("-inf")
        self._fetching = asyncio.Lock()
        self._matrix: MeshMatrix | None = None  # the last one, for repeated requests
        self._computing = asyncio.Lock()

    async def graph(self) -> MeshGraphShown:
        """The whole mesh, at most a second old."""
        async with self._fetching:
            if self._clock() - self._fetched_at >= FRESH_S:
                self._fetched = await self._graph_or_error()
                self._fetched_at = self._clock()
        if isinstance(self._fetched, NodeUnavailableError):
            raise NodeUnavailableError(str(self._fetched))  # concurrent requests share the failure
        return self._fetched

    async def _graph_or_error(self) -> MeshGraphShown | NodeUnavailableError:
        try:
            return await self._call(self._fetch)
        except NodeUnavailableError as error:
            return error

    async def matrix(self, names: Sequence[str] = (), site: str = "") -> MeshMatrix:
        """Between these members, those of a site, or those with most links."""
        graph = await self.graph()
        if names:
            found = {
                member.hashname: member for member in (member_by_name(graph, n) for n in names)
            }
            chosen = in_order(found.values())
        elif site:
            chosen = in_order(member for member in graph.members if member.site == site)
        else:
            chosen = most_linked(graph)
        if len(chosen) > MEMBERS_MAX:
            raise UsageError(f"a matrix has at most {MEMBERS_MAX} members; name fewer")
        wanted = tuple(member.hashname for member in chosen)
        async with self._computing:
            last = self._matrix
            if last is None or last.at != graph.at or _hashnames(last) != wanted:
                last = self._matrix = await asyncio.to_thread(matrix_of, graph, chosen)
        return last

    async def explain(self, source: str, target: str) -> MeshRouteExplanation:
        """Why packets from one member to another take their route; UsageError: no such members."""

        async def ask(client: ControlClient) -> MeshRouteExplanation:
            request = ControlRequest(do=ControlCommand.EXPLAIN, node=target, source=source)
            return explanation_shown(await client.one(request, ExplanationRow), source, target)

        return await self._call(ask)

    async def queues(self) -> list[QueueShown]:
        """One for each member with queued requests."""

        async def ask(client: ControlClient) -> list[QueueShown]:
            return [
                queue_shown(row)
                for row in await client.all(ControlRequest(do=ControlCommand.QUEUES), QueueRow)
            ]

        return await self._call(ask)

    async def queue(self, node: str) -> list[QueuedRequest]:
        """Requests queued for one member, oldest first; UsageError: no such member."""

        async def ask(client: ControlClient) -> list[QueuedRequest]:
            rows = await client.all(ControlRequest(do=ControlCommand.QUEUE, node=node), RequestRow)
            return [request_shown(row) for row in rows]

        return await self._call(ask)

    async def cancel(self, node: str, id_: int) -> None:
        """Cancel one request; UsageError if it is gone or being delivered."""

        async def ask(client: ControlClient) -> None:
            await client.all(
                ControlRequest(do=ControlCommand.QUEUE_CANCEL, node=node, id=id_), RequestRow
            )

        await self._call(ask)

    async def _fetch(self, client: ControlClient) -> MeshGraphShown:
        builder = MeshGraphBuilder()
        async for part in client.ask(ControlRequest(do=ControlCommand.GRAPH), GraphPart):
            builder.add(part)
            await asyncio.sleep(0)  # what has come already would be read without a pause
        return builder.graph()

    async def _call(self, ask: Callable[[ControlClient], Awaitable[Answer]]) -> Answer:
        try:
            async with asyncio.timeout(self._answer_s), self._places, self._connected() as client:
                return await ask(client)
        except TimeoutError as error:
            text = f"the node at {self._control} takes more than {self._answer_s:g} s to answer"
            raise NodeUnavailableError(text) from error
        except RemoteError as error:
            text = f"the node at {self._control} does not answer as it should: {error}"
            raise NodeUnavailableError(text) from error
        except UnreachableError as error:
            raise NodeUnavailableError(str(error)) from error

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[ControlClient]:
        """A refused connection counts as unavailable; a refused command is an answer."""
        async with AsyncExitStack() as stack:
            try:
                connecting = connected(self._control, self._answer_s)
                client = await stack.enter_async_context(connecting)
            except DeniedError as error:
                raise NodeUnavailableError(str(error)) from error
            yield client


def _hashnames(matrix: MeshMatrix) -> tuple[str, ...]:
    return tuple(member.hashname for member in matrix.members)
