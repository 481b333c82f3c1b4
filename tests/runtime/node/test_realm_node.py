"""Realms of running nodes: who joins is known to all, and who is revoked is out within seconds."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pytest

from rookery.errors import ChannelError, DeniedError
from rookery.identity.identity import Identity
from rookery.mesh.membership.invitation import Invitation
from rookery.runtime.endpoint.create import create
from rookery.runtime.net.http_listener import HttpRequest
from rookery.runtime.node.metrics import Metrics
from rookery.runtime.node.node import MeshNode, mesh_node
from rookery.runtime.node.view import NodeView
from rookery.runtime.realm.authority import RealmAuthority, found
from rookery.runtime.realm.join import join
from rookery.runtime.realm.store import RealmStore
from rookery.wire.link.lob import JsonObject
from tests.mesh.realms import identity
from tests.patience import PATIENCE_S
from tests.runtime.realms import realm

ALICE, BOB, CAROL = (identity(name, (0x3A, 0x40)) for name in ("alice", "bob", "carol"))

DIALLED_S = 2.0  # more than a node takes to dial what it is told


async def until(is_so: Callable[[], bool]) -> float:
    """Wait for it; how long that took."""
    began = time.monotonic()
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():  # noqa: ASYNC110  nodes have no event for each thing they learn
            await asyncio.sleep(0.02)
    return time.monotonic() - began


async def joined(folder: Path, joiner: Identity, invitation: Invitation) -> RealmStore:
    async with create(joiner) as endpoint:
        answer = await join(endpoint, invitation, folder.name, 10)
    return RealmStore.create(folder, invitation.realm, answer.certificate, peers=[answer.link])


def names(node: MeshNode) -> set[str]:
    return {member.name for member in node.core.membership.members.values()}


def neighbours(node: MeshNode) -> set[str]:
    return {neighbour.member.name for neighbour in node.core.neighbours.values()}


async def test_news_of_members_reach_everybody_within_seconds(tmp_path: Path) -> None:
    store = found(tmp_path / "alice", "home", ALICE, member_name="alice")
    authority = RealmAuthority(RealmStore(store.folder))  # as another process would
    async with AsyncExitStack() as stack:
        alice = await stack.enter_async_context(mesh_node(ALICE, store))
        nodes = [alice]
        for name, joiner in (("bob", BOB), ("carol", CAROL)):
            link = RealmStore(store.folder).link()
            assert link is not None
            _, invitation = authority.invite(link, roles=["relay"])
            folder = await joined(tmp_path / name, joiner, invitation)
            nodes.append(await stack.enter_async_context(mesh_node(joiner, folder)))
        everybody = {"alice", "bob", "carol"}
        await until(lambda: all(names(node) == everybody for node in nodes))
        await until(lambda: all(len(neighbours(node)) == 2 for node in nodes))
        carol = nodes[-1]

        authority.revoke(BOB.hashname)
        took_s = await until(lambda: names(carol) == names(alice) == {"alice", "carol"})
        assert took_s < 5
        await until(lambda: not (neighbours(alice) | neighbours(carol)) & {"bob"})
        assert BOB.hashname in carol.core.membership.revoked

        _, again = authority.invite(alice.endpoint.address)
        with pytest.raises(DeniedError, match="has been used"):
            await joined(tmp_path / "thief", identity("thief"), invitation)
        assert again.hashname == ALICE.hashname
        carol.remember()
    restarted = RealmStore(tmp_path / "carol").membership(time.time())
    assert {member.name for member in restarted.members.values()} == {"alice", "carol"}
    assert BOB.hashname in restarted.revoked


async def test_a_stranger_may_join_and_open_nothing_else(tmp_path: Path) -> None:
    """Strangers are heard so that they can become members; no service is theirs before."""
    (alice,) = realm(tmp_path, "alice")
    async with mesh_node(alice.identity, alice.store) as node, create() as stranger:
        link = await stranger.link(node.endpoint.address).up()
        for kind in ("chat", "profile", "sock"):
            channel = link.open(kind)
            async with asyncio.timeout(PATIENCE_S):
                with pytest.raises(ChannelError, match="unknown type"):
                    await channel.receive()


async def test_nothing_is_dialled_for_a_stranger(tmp_path: Path) -> None:
    """It could have a service of this machine asked for anything, and others knocked at."""
    called = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        called.set()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    listed: list[JsonObject] = [
        {"type": "http", "url": f"http://127.0.0.1:{port}/cgi-bin/reboot?confirm=yes"},
        {"type": "tcp4", "ip": "127.0.0.1", "port": port},
    ]
    (alice,) = realm(tmp_path, "alice")
    async with server, mesh_node(alice.identity, alice.store) as node, create() as stranger:
        link = await stranger.link(node.endpoint.address).up()
        link.core.say("path", {"paths": listed})
        channel = link.open("nothing that is served")
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(ChannelError):
                await channel.receive()  # so what was said before has been heard
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(DIALLED_S):
                await called.wait()


async def test_a_refused_join_is_counted_and_a_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = found(tmp_path / "alice", "home", ALICE, member_name="alice")
    async with mesh_node(ALICE, store) as node:
        view = NodeView(node)
        assert view.counters().joins == {}
        invitation = RealmAuthority(store).invite(node.endpoint.address)[1]
        wrong = msgspec.structs.replace(invitation, secret=bytes(16))
        with pytest.raises(DeniedError) as caught:
            await joined(tmp_path / "carol", CAROL, wrong)
        (reason,) = view.counters().joins
        assert view.counters().joins == {reason: 1}
        assert reason in str(caught.value)
        text = Metrics(view).answer(HttpRequest("GET", "/metrics")).body.decode()
        assert f'rookery_refused_joins_total{{reason="{reason}"}} 1.0' in text
    (line,) = [record.getMessage() for record in caplog.records if "join" in record.getMessage()]
    assert line == f"join of {CAROL.hashname[:8]} refused: {reason}"
