"""What real nodes say about themselves: three of them in one process, over loopback.

Alice and Carol tell the realm addresses at which nobody listens, so only Bob can be dialled.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from rookery.errors import UnreachableError
from rookery.runtime.node.members import GraphLink, GraphMember, Reachability
from rookery.runtime.node.netcheck import is_own, net_facts
from rookery.runtime.node.node import MeshNode, mesh_node
from rookery.runtime.node.snapshot import NetCheckResult, PeerPathState, PeerRow, PeerState
from rookery.runtime.node.view import NodeView
from rookery.wire.link.path import NetPath
from rookery.wire.link.uri import LinkAddress
from tests.patience import PATIENCE_S
from tests.runtime.realms import Home, realm

NOWHERE = NetPath("tcp4", "127.0.0.1", 9)


class Looked(NamedTuple):
    home: Home
    node: MeshNode
    view: NodeView

    def peer(self, name: str) -> PeerRow:
        (found,) = (peer for peer in self.view.peers() if peer.node.name == name)
        return found


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 (a condition over several nodes)
            await asyncio.sleep(0.02)


@asynccontextmanager
async def colony(folder: Path) -> AsyncIterator[tuple[Looked, Looked, Looked]]:
    """Alice, Bob and Carol, once each knows a route to the others."""
    homes = realm(folder, "alice", "bob", "carol")
    async with AsyncExitStack() as stack:

        async def start(home: Home, *peers: MeshNode) -> Looked:
            advertise = [NOWHERE] if peers else []
            running = mesh_node(
                home.identity,
                home.store,
                peers=[peer.endpoint.address for peer in peers],
                advertise=advertise,
            )
            node = await stack.enter_async_context(running)
            return Looked(home, node, NodeView(node))

        bob = await start(homes[1])
        alice, carol = await start(homes[0], bob.node), await start(homes[2], bob.node)
        looked = (alice, bob, carol)
        await until(lambda: all(one.view.status().routes == 2 for one in looked))
        yield looked


async def test_a_node_tells_of_itself(tmp_path: Path) -> None:
    async with colony(tmp_path) as (alice, bob, _):
        status = alice.view.status()
        assert (status.name, status.realm, status.roles) == ("alice", "home", ("relay",))
        assert (status.members, status.peers_up, status.is_ready) == (3, 1, True)
        assert status.hashname == alice.home.hashname
        assert not status.is_stale
        assert bob.view.status().peers_up == 2
        reaches = {member.node.name: member.reach for member in alice.view.members()}
        assert reaches == {
            "alice": Reachability.SELF,
            "bob": Reachability.DIRECT,
            "carol": Reachability.ROUTE,
        }
        ages = [member.record_age_s for member in alice.view.members()]
        assert all(age is not None and age < PATIENCE_S for age in ages)


async def test_peers_show_every_path_and_what_they_carried(tmp_path: Path) -> None:
    """M10: datagrams come beside the stream."""
    async with colony(tmp_path) as (alice, _, _):

        def transports() -> dict[str, PeerPathState]:
            return {path.transport: path.state for path in alice.peer("bob").paths}

        await until(lambda: transports() == {"tcp4": PeerPathState.UP, "udp4": PeerPathState.UP})
        bob = alice.peer("bob")
        assert bob.state is PeerState.UP
        assert bob.used is not None
        assert bob.rtt_ms == bob.used.rtt_ms is not None
        assert bob.cost_us is not None
        assert bob.in_bytes > 1000
        assert bob.out_bytes > 1000
        assert 0 < bob.state_since_s < PATIENCE_S
        await until(lambda: alice.peer("carol").last_error_at is not None)
        carol = alice.peer("carol")
        assert (carol.state, carol.last_error) == (PeerState.DOWN, "no path could be opened")


async def test_routes_name_their_nodes(tmp_path: Path) -> None:
    async with colony(tmp_path) as (alice, _, _):
        bob, carol = alice.view.routes()
        assert (bob.reach, str(bob.best)) == (Reachability.DIRECT, "bob")
        assert (carol.reach, str(carol.best)) == (Reachability.ROUTE, "bob → carol")
        assert carol.best is not None
        assert bob.best is not None
        assert carol.best.cost_us > bob.best.cost_us


async def test_ping_and_trace_take_the_route_of_packets(tmp_path: Path) -> None:
    async with colony(tmp_path) as (alice, bob, carol):
        direct = await alice.view.ping(bob.home.hashname, 5.0)
        assert direct.reach is Reachability.DIRECT
        assert direct.rtt_ms is not None
        assert "127.0.0.1" in direct.over
        routed = await alice.view.ping(carol.home.hashname, 5.0)
        assert (routed.reach, routed.over) == (Reachability.ROUTE, "bob → carol")
        hops = [hop async for hop in alice.view.trace(carol.home.hashname, 2, 5.0)]
        assert [(hop.number, hop.node.name, hop.is_last) for hop in hops] == [
            (1, "bob", False),
            (2, "carol", True),
        ]
        assert all(hop.is_answered and not hop.problem for hop in hops)
        counters = bob.view.counters()
        assert counters.packets["relayed"] >= 4
        assert counters.bytes["relayed"] > 0
        assert counters.bytes["flooded"] > 0


async def test_one_node_tells_of_the_whole_mesh(tmp_path: Path) -> None:
    """R13."""
    async with colony(tmp_path) as (alice, bob, carol):
        names = {one.home.hashname: one.home.name for one in (alice, bob, carol)}

        def graph() -> tuple[dict[str, GraphMember], dict[str, GraphLink]]:
            parts = list(alice.view.graph())
            members = {one.name: one for part in parts for one in part.members}
            links = {
                " ".join(sorted((names[link.a], names[link.b]))): link
                for part in parts
                for link in part.links
            }
            return members, links

        def states() -> dict[str, str]:
            return {ends: link.state.value for ends, link in graph()[1].items()}

        await until(lambda: states() == {"alice bob": "up", "bob carol": "up"})
        members, links = graph()
        reaches = {name: member.reach for name, member in members.items()}
        assert reaches == {
            "alice": Reachability.SELF,
            "bob": Reachability.DIRECT,
            "carol": Reachability.ROUTE,
        }
        await until(lambda: graph()[1]["alice bob"].rtt_ms is not None)
        assert links["bob carol"].rtt_ms is None
        for link in links.values():
            assert link.a < link.b
            assert link.cost_ab_us is not None
            assert link.cost_ba_us is not None
            assert link.claimed_at is not None
        explained = alice.view.explain(alice.home.hashname, carol.home.hashname)
        assert explained.lines[0] == "to alice: carol – bob – alice"
        assert explained.source is not None
        assert explained.source.name == "carol"
        await carol.node.endpoint.close()
        await until(lambda: states() == {"alice bob": "up", "bob carol": "down"})
        assert graph()[0]["carol"].reach is Reachability.NONE
        await bob.node.endpoint.close()
        await until(lambda: states()["alice bob"] == "down")


async def test_nobody_answers_for_a_member_that_is_gone(tmp_path: Path) -> None:
    async with colony(tmp_path) as (alice, bob, carol):
        await bob.node.endpoint.close()
        await until(lambda: alice.view.status().peers_up == 0)
        status = alice.view.status()
        assert status.problems == ("no peer is up",)
        assert alice.peer("bob").last_error
        await until(lambda: alice.view.status().routes == 0)
        reply = await alice.view.ping(carol.home.hashname, 0.5)
        assert (reply.reach, reply.rtt_ms) == (Reachability.NONE, None)
        assert reply.problem
        with pytest.raises(UnreachableError, match="carol"):
            [hop async for hop in alice.view.trace(carol.home.hashname, 1, 0.5)]
        rows = {route.to.name: route for route in alice.view.routes()}
        assert rows["carol"].reach is Reachability.NONE
        assert rows["carol"].problem


async def test_a_trace_stops_where_nobody_answers(tmp_path: Path) -> None:
    async with colony(tmp_path) as (alice, bob, carol):
        bob.node.core.data_plane.is_relay = False
        hops = [hop async for hop in alice.view.trace(carol.home.hashname, 1, 0.5)]
        assert hops[-1].node.name == "bob"
        assert hops[-1].problem == "goes no further: refused"
        reply = await alice.view.ping(carol.home.hashname, 0.5)
        assert reply.rtt_ms is None
        assert reply.problem == "bob gave it up before carol: refused"


async def test_explain_names_senders_of_rejected_frames(tmp_path: Path) -> None:
    """R13."""
    async with colony(tmp_path) as (alice, bob, carol):
        link = bob.node.endpoint.core.links[alice.home.hashname]
        for _ in range(3):
            link.send_frame(b"\xee", b"nonsense")
        bob.node.endpoint.stir()
        short = bob.home.hashname[:8]
        await until(lambda: alice.node.core.rejected_frames[short, "a frame of no known type"] == 3)
        explained = alice.view.explain(carol.home.hashname)
        assert explained.to.name == "carol"
        assert explained.lines[0] == "to carol: alice – bob – carol"
        assert f"refused of bob ({short}): a frame of no known type, 3 ×" in explained.lines
        assert explained.decision["destination"] == carol.home.hashname
        assert {"source": short, "reason": "a frame of no known type", "count": 3} in (
            explained.decision["refused"]  # type: ignore[operator]
        )
        assert any(entry.count == 3 for entry in alice.view.counters().refused)


async def test_netcheck_judges_what_was_seen(tmp_path: Path) -> None:
    async with colony(tmp_path) as (alice, _, _):
        await until(lambda: _finding(alice, "udp-beside") is NetCheckResult.OK)
        findings = {item.check: item.finding for item in alice.view.netcheck()}
        assert findings.pop("address") in (NetCheckResult.OK, NetCheckResult.UNKNOWN)
        assert set(findings.values()) == {NetCheckResult.OK}
        # A peer whose clock is ahead makes records from the future.
        facts = net_facts(alice.node, tuple(alice.view.peers()))
        assert [round(skew.ahead_s) for skew in facts.skews] == [0]


def _finding(one: Looked, check: str) -> NetCheckResult:
    (finding,) = (item.finding for item in one.view.netcheck() if item.check == check)
    return finding


def _kept_from_others(address: LinkAddress) -> socket.socket:
    """The port of somebody who is gone: nobody else listens there while this is open."""
    (path,) = (path for path in address.paths if isinstance(path, NetPath) and not path.is_datagram)
    taken = socket.socket()
    taken.bind((path.ip, path.port))
    return taken


async def test_a_peer_that_never_answered_is_known_by_its_hashname(tmp_path: Path) -> None:
    alice, bob = realm(tmp_path, "alice", "bob")
    async with AsyncExitStack() as stack:
        gone = await stack.enter_async_context(mesh_node(bob.identity, bob.store))
        address = gone.endpoint.address
        await gone.endpoint.close()
        stack.enter_context(_kept_from_others(address))
        node = await stack.enter_async_context(
            mesh_node(alice.identity, alice.store, peers=[address])
        )
        view = NodeView(node)
        await until(lambda: any(peer.last_error for peer in view.peers()))
        (peer,) = view.peers()
        assert (peer.node.hashname, peer.node.name) == (bob.hashname, "")
        assert peer.state is PeerState.DOWN
        status = view.status()
        assert (status.members, status.peers, status.is_ready) == (1, 1, False)


async def test_a_node_that_is_no_member_any_more_is_not_ready(tmp_path: Path) -> None:
    (alice,) = realm(tmp_path, "alice")
    async with mesh_node(alice.identity, alice.store) as node:
        view = NodeView(node)
        assert view.status().is_ready
        node.core.membership.refresh(view.status().certificate_ends_at)
        assert view.status().problems == ("its certificate has ended or was revoked",)


async def test_a_node_that_does_nothing_tells_so(tmp_path: Path) -> None:
    (alice,) = realm(tmp_path, "alice")
    async with mesh_node(alice.identity, alice.store) as node:
        view = NodeView(node)
        await until(lambda: view.status().worked_ago_s < 1.5)
        now = node.endpoint.now()
        node.endpoint.now = lambda: now + 60  # type: ignore[method-assign]
        assert view.status().is_stale


def test_an_address_is_ours_when_it_can_be_bound_to() -> None:
    assert is_own("127.0.0.1")
    assert not is_own("192.0.2.1")
    assert not is_own("2001:db8::1")
