"""Crow over links between endpoints (C1, C2, T2)."""

import asyncio
import os

import pytest

from rookery.errors import UsageError
from rookery.identity.identity import Identity
from rookery.runtime.crow.gates.gate import CrowGate
from rookery.runtime.crow.gates.mesh_gate import PACKET_SIZE_MAX, CrowMeshGate, hop
from rookery.runtime.crow.outcome import DeliveryStatus
from rookery.runtime.crow.tower import CrowTower
from rookery.sim.loop import run_virtual
from rookery.sim.network.network import Conditions
from tests.patience import PATIENCE_S
from tests.runtime.crow.recorder import CrowRecorder, eventually, packet
from tests.runtime.endpoint_pair import EndpointPair
from tests.runtime.endpoints import endpoints, linked


async def test_a_hop_is_the_gate_and_the_hashname() -> None:
    identity = Identity.generate([0x3A], os.urandom)
    assert len(hop(identity.hashname)) == 33
    assert hop(identity.hashname)[0] == 16
    for name in ("", "x", identity.hashname[:-1], "UPPER"):
        with pytest.raises(UsageError, match="not a hashname"):
            hop(name)


async def test_a_packet_crosses_a_link_and_has_its_return_hop() -> None:
    async with EndpointPair() as pair:
        at_alice, at_bob = CrowRecorder(), CrowRecorder()
        alice: CrowGate = CrowMeshGate(at_alice, pair.alice.endpoint)
        bob = CrowMeshGate(at_bob, pair.bob)
        alice.send(packet(bob.address))
        arrived, return_hop = await at_bob.arrival()
        assert arrived == packet(bob.address)
        assert return_hop[::-1] == hop(pair.alice.endpoint.hashname)
        bob.send(packet(return_hop[::-1], b"answer"))
        assert (await at_alice.arrival())[0].data == b"answer"
        await alice.close()
        await bob.close()


async def test_a_burst_takes_one_channel_and_arrives() -> None:
    async with EndpointPair() as pair:
        at_bob = CrowRecorder()
        alice, bob = (
            CrowMeshGate(CrowRecorder(), pair.alice.endpoint),
            CrowMeshGate(at_bob, pair.bob),
        )
        for number in range(100):
            alice.send(packet(bob.address, b"%d" % number))
        await at_bob.arrival(100)
        assert sorted(map(int, at_bob.data)) == list(range(100))
        assert len(at_bob.drains) < 100
        await alice.close()
        await bob.close()


async def test_only_linked_peers_on_the_list_are_talked_with() -> None:
    """Authenticated: the list is of hashnames, which nobody can forge."""
    async with EndpointPair() as pair:
        at_bob = CrowRecorder()
        alice = CrowMeshGate(CrowRecorder(), pair.alice.endpoint)
        bob = CrowMeshGate(at_bob, pair.bob, allow={"somebody else"})
        alice.send(packet(bob.address))
        await eventually(lambda: bob.counters.dropped["denied"] == 1)
        bob.send(packet(alice.address))
        assert bob.counters.dropped == {"denied": 2}
        assert at_bob.arrivals == []
        await alice.close()
        await bob.close()


async def test_what_has_no_link_or_does_not_fit_is_dropped_and_counted() -> None:
    async with EndpointPair() as pair:
        gate = CrowMeshGate(CrowRecorder(), pair.alice.endpoint)
        stranger = Identity.generate([0x3A], os.urandom).hashname
        gate.send(packet(hop(stranger)))
        gate.send(packet(hop(stranger)[:20]))
        gate.send(packet(hop(pair.bob.hashname), bytes(PACKET_SIZE_MAX)))
        assert gate.counters.dropped == {"unreachable": 1, "unfit": 2}
        await gate.close()
        gate.send(packet(hop(pair.bob.hashname)))
        assert gate.counters.dropped["unreachable"] == 2


async def test_bytes_that_are_no_packet_are_counted() -> None:
    async with EndpointPair() as pair:
        recorder = CrowRecorder()
        bob = CrowMeshGate(recorder, pair.bob)
        channel = pair.alice.open("crow", body=b"nonsense", reliable=False)
        channel.post(body=packet(bob.address).serialize())
        await recorder.arrival()
        assert bob.counters.dropped == {"malformed": 1}
        await bob.close()


async def test_a_closed_gate_turns_channels_away_and_the_peer_notices() -> None:
    async with EndpointPair() as pair:
        at_bob = CrowRecorder()
        alice, bob = (
            CrowMeshGate(CrowRecorder(), pair.alice.endpoint),
            CrowMeshGate(at_bob, pair.bob),
        )
        alice.send(packet(bob.address))
        await at_bob.arrival()
        await bob.close()
        again = CrowMeshGate(at_bob, pair.bob)  # and a new one takes its place

        def is_back() -> bool:
            alice.send(packet(bob.address, b"again"))
            return b"again" in at_bob.data

        await eventually(is_back)
        await alice.close()
        await again.close()


async def test_a_message_is_delivered_exactly_once_across_a_link() -> None:
    """C3 over T2."""
    async with EndpointPair() as pair, CrowTower() as alice, CrowTower() as bob:
        alice.add_gate(CrowMeshGate(alice, pair.alice.endpoint))
        bob.add_gate(CrowMeshGate(bob, pair.bob))
        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
            sends = [
                group.create_task(alice.send(hop(pair.bob.hashname), b"%d" % number, qos=2))
                for number in range(300)
            ]
        assert all(send.result().is_delivered for send in sends)
        await bob.close()
        assert sorted([int(arrived.packet.data) async for arrived in bob]) == list(range(300))


def test_lost_openings_cost_no_more_than_lost_packets() -> None:
    """Deterministic world, a third of everything lost: any packet opens the channel."""

    async def program() -> None:
        conditions = Conditions(loss=0.33)
        async with endpoints(2, seed=3, conditions=conditions) as ((one, two), _):
            await linked(one, two)
            clock = asyncio.get_running_loop().time
            async with CrowTower(clock=clock) as alice, CrowTower(clock=clock) as bob:
                alice.add_gate(CrowMeshGate(alice, one))
                bob.add_gate(CrowMeshGate(bob, two))
                delivered = 0
                for number in range(100):
                    outcome = await alice.send(hop(two.hashname), b"%d" % number, qos=2)
                    delivered += outcome.status is DeliveryStatus.DELIVERED
                await bob.close()
                got = [int(arrived.packet.data) async for arrived in bob]
                assert len(got) == len(set(got))
                assert delivered <= len(got)
                assert delivered > 80

    run_virtual(program())
