"""Outboxes of members: over tunnels, whoever has the lower hashname, seen from outside."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from rookery.errors import ChannelError, DeniedError, UnreachableError, UsageError
from rookery.outbox.intake import IncomingRequest
from rookery.outbox.state import RequestState
from rookery.runtime.control.client import connected
from rookery.runtime.control.messages import ControlCommand, ControlRequest
from rookery.runtime.control.server import ControlServer
from rookery.runtime.net.http_listener import HttpRequest
from rookery.runtime.node.metrics import Metrics
from rookery.runtime.node.node import MeshNode, mesh_node
from rookery.runtime.node.view import NodeView
from rookery.runtime.outbox.queue_view import QueueView
from rookery.runtime.outbox.rows import QueueRow, RequestRow
from tests.patience import PATIENCE_S
from tests.runtime.outbox.town import until
from tests.runtime.realms import realm


@asynccontextmanager
async def neighbours(folder: Path) -> AsyncIterator[tuple[MeshNode, MeshNode]]:
    """Two members that know each other, the lower hashname first."""
    async with AsyncExitStack() as stack:
        one, other = realm(folder, "one", "other")
        first = await stack.enter_async_context(mesh_node(one.identity, one.store))
        second = await stack.enter_async_context(
            mesh_node(other.identity, other.store, peers=[first.endpoint.address])
        )
        await until(
            lambda: (
                second.hashname in first.outbox.core.peers
                and first.hashname in second.outbox.core.peers
            )
        )
        lower, higher = sorted((first, second), key=lambda node: node.hashname)
        yield lower, higher


async def echo(arrival: IncomingRequest) -> bytes:
    return b"re:" + arrival.payload


async def test_members_send_each_other_requests(tmp_path: Path) -> None:
    """Q2, Q6: the lower hashname dials, the higher one has it do so by knocking."""
    async with neighbours(tmp_path) as (lower, higher):
        lower.outbox.handler = higher.outbox.handler = echo
        async with asyncio.timeout(PATIENCE_S):
            up = await higher.outbox.send(lower.hashname, b"up", qos=2, wants_reply=True)
            down = await lower.outbox.send(higher.hashname, b"down", qos=2, wants_reply=True)
        assert (up, down) == (b"re:up", b"re:down")
        assert lower.outbox.peer(higher.hashname).sessions == 1
        with pytest.raises(UnreachableError):
            lower.outbox.peer(lower.hashname)


async def test_an_outbox_that_nobody_used_answers(tmp_path: Path) -> None:
    """It is made with the first session, or the first knock."""
    one, other = sorted(realm(tmp_path, "one", "other"), key=lambda home: home.hashname)
    for sender, answerer in ((one, other), (other, one)):
        async with (
            mesh_node(answerer.identity, answerer.store) as far,
            mesh_node(sender.identity, sender.store, peers=[far.endpoint.address]) as near,
            asyncio.timeout(PATIENCE_S),
        ):
            await until(lambda: far.hashname in near.outbox.core.peers)
            with pytest.raises(ChannelError, match="nobody handles"):
                await near.outbox.send(far.hashname, b"hello")


async def test_threads_may_be_the_first_to_use_an_outbox(tmp_path: Path) -> None:
    me, gone = realm(tmp_path, "me", "gone")
    me.store.remember([gone.store.membership(0).own.certificate])
    async with mesh_node(me.identity, me.store) as node, asyncio.timeout(PATIENCE_S):

        def add() -> bool:
            request = node.outbox.request(b"hello")
            node.outbox.peer(gone.hashname).add_packet(request)
            request.release()
            return True

        assert await asyncio.to_thread(add)
        assert node.outbox.peer(gone.hashname).count == 1


async def test_a_node_that_is_gone_takes_no_requests(tmp_path: Path) -> None:
    (me,) = realm(tmp_path, "me")
    async with mesh_node(me.identity, me.store) as node:
        pass
    with pytest.raises(UnreachableError, match="closed"):
        _ = node.outbox


async def test_without_a_handler_requests_are_refused(tmp_path: Path) -> None:
    async with neighbours(tmp_path) as (lower, higher), asyncio.timeout(PATIENCE_S):
        with pytest.raises(ChannelError, match="nobody handles"):
            await lower.outbox.send(higher.hashname, b"hello")


async def test_the_queue_is_seen_and_cancelled_through_the_control_socket(tmp_path: Path) -> None:
    me, gone = realm(tmp_path, "me", "gone")
    me.store.remember([gone.store.membership(0).own.certificate])
    async with AsyncExitStack() as stack:
        node = await stack.enter_async_context(mesh_node(me.identity, me.store))
        await until(lambda: gone.hashname in node.outbox.core.peers)
        view = NodeView(node)
        queues = QueueView(lambda: node.outbox, view.name_of)
        control = await ControlServer.bind(view, tmp_path / "control", queues=queues)
        stack.push_async_callback(control.close)
        client = await stack.enter_async_context(connected(tmp_path / "control"))
        for qos in (0, 1, 2):
            ask = ControlRequest(
                do=ControlCommand.QUEUE_ADD, node="gone", text="hello", qos=qos, expires_s=600.0
            )
            added = await client.one(ask, RequestRow)
            assert (added.state, added.qos, added.bytes) == ("queued", qos, 5)
        (row,) = await client.all(ControlRequest(do=ControlCommand.QUEUES), QueueRow)
        assert (row.node.name, row.requests, row.states) == ("gone", 3, {"queued": 3})
        assert not row.is_in_session
        rows = await client.all(ControlRequest(do=ControlCommand.QUEUE, node="gone"), RequestRow)
        assert [one.id for one in rows] == [1, 2, 3]
        assert not any(one.is_begun for one in rows)
        cancelled = await client.all(
            ControlRequest(do=ControlCommand.QUEUE_CANCEL, node="gone", id=2), RequestRow
        )
        assert [(one.id, one.state) for one in cancelled] == [(2, "cancelled")]
        await until(lambda: node.outbox.core.totals[RequestState.CANCELLED] == 1)
        with pytest.raises(UsageError, match="no request 2"):
            await client.all(
                ControlRequest(do=ControlCommand.QUEUE_CANCEL, node="gone", id=2), RequestRow
            )
        text = Metrics(view, queues).answer(HttpRequest("GET", "/metrics")).body.decode()
        peer = f'name="gone",peer="{gone.hashname[:8]}"'
        assert f'rookery_outbox_requests{{{peer},state="queued"}} 2.0' in text
        assert 'rookery_outbox_ended_requests_total{state="cancelled"} 1.0' in text
        cancelled = await client.all(
            ControlRequest(do=ControlCommand.QUEUE_CANCEL, node="gone"), RequestRow
        )
        assert [one.id for one in cancelled] == [1, 3]
        await until(lambda: not node.outbox.core.pool.requests)
        with pytest.raises(UsageError):
            await client.all(
                ControlRequest(do=ControlCommand.QUEUE_ADD, node="gone", qos=3), RequestRow
            )


async def test_a_node_without_an_outbox_says_so(tmp_path: Path) -> None:
    (me,) = realm(tmp_path, "me")
    async with AsyncExitStack() as stack:
        node = await stack.enter_async_context(mesh_node(me.identity, me.store))
        control = await ControlServer.bind(NodeView(node), tmp_path / "control")
        stack.push_async_callback(control.close)
        client = await stack.enter_async_context(connected(tmp_path / "control"))
        with pytest.raises(DeniedError, match="no outbox"):
            await client.all(ControlRequest(do=ControlCommand.QUEUES), QueueRow)
