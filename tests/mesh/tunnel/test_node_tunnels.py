"""Tunnels between members of a simulated realm: over routes, and past the death of relays."""

from hashlib import sha256
from random import Random

from rookery.mesh.tunnel.events import (
    CloseCode,
    StreamFinished,
    StreamOpened,
    StreamReadable,
    TunnelClosed,
)
from rookery.mesh.tunnel.paths.scheduler import Mode
from rookery.sim.mesh.member import SimulatedMember
from rookery.sim.mesh.topology import Topology
from rookery.sim.mesh.world import MeshWorld

SIZE = 1 << 20
# north 0, relays 1 and 2, south 3
DIAMOND = Topology(4, {(0, 1): 0.005, (1, 3): 0.005, (0, 2): 0.008, (2, 3): 0.008})


class Transfer:
    """Writes on one side, reads on the other, whenever something happens."""

    def __init__(self, world: MeshWorld, data: bytes) -> None:
        self.world = world
        self.north, self.south = world.members[0], world.members[3]
        self.data, self.written, self.received = data, 0, bytearray()
        self.is_finished = False
        self.north.core.reach(self.south.hashname, world.now)
        self.tunnel = self.north.core.tunnels.tunnel(self.south.hashname, world.now)
        self.stream = self.tunnel.open("sink", {"name": "x"})
        self.opened: list[StreamOpened] = []

    def step(self) -> bool:
        """Whether all has arrived."""
        if self.written < len(self.data):
            rest = self.data[self.written : self.written + (1 << 16)]
            self.written += self.tunnel.write(self.stream, rest, self.world.now)
            if self.written == len(self.data):
                self.tunnel.finish(self.stream)
        self.north.core.tunnels.touched(self.south.hashname, self.tunnel)
        self.north.due()
        for told in self.south.core.tunnels.take():
            match told.event:
                case StreamOpened():
                    self.opened.append(told.event)
                case StreamReadable(stream) | StreamFinished(stream):
                    self.is_finished |= isinstance(told.event, StreamFinished)
                    while data := told.tunnel.read(stream, 1 << 16):
                        self.received += data
                    self.south.core.tunnels.touched(told.peer, told.tunnel)
        self.south.due()
        return self.is_finished and len(self.received) == len(self.data)


def run(transfer: Transfer, limit_s: float) -> float:
    """How long the rest of the transfer took."""
    began = transfer.world.now
    while not transfer.step():
        assert transfer.world.now - began < limit_s, len(transfer.received)
        transfer.world.run(0.002)
    return transfer.world.now - began


def used(node: SimulatedMember, other: SimulatedMember, world: MeshWorld) -> int:
    choice = node.core.table.to(other.id, world.now)
    assert choice is not None
    return world.numbers[choice.route.nodes[1]]


def test_bytes_cross_a_mesh_between_members_that_have_no_link() -> None:
    """M4: whether there is a direct link is no concern of programs."""
    world = MeshWorld(5, topology=DIAMOND)
    world.converge()
    data = Random(1).randbytes(SIZE)
    transfer = Transfer(world, data)
    run(transfer, 20)
    assert sha256(transfer.received).digest() == sha256(data).digest()
    assert [(told.service, told.meta) for told in transfer.opened] == [("sink", {"name": "x"})]


def test_a_tunnel_outlives_the_relay_it_runs_over() -> None:
    """M5: no byte is lost, repeated or reordered."""
    world = MeshWorld(6, topology=DIAMOND)
    world.converge()
    data = Random(2).randbytes(SIZE)
    transfer = Transfer(world, data)
    while len(transfer.received) < SIZE // 8:
        transfer.step()
        world.run(0.002)
    world.kill(used(transfer.north, transfer.south, world))
    run(transfer, 20)
    assert sha256(transfer.received).digest() == sha256(data).digest()


def test_a_tunnel_waits_while_there_is_no_path_at_all() -> None:
    """M5: stalled, not failed."""
    world = MeshWorld(7, topology=DIAMOND)
    world.converge()
    data = Random(3).randbytes(SIZE)
    transfer = Transfer(world, data)
    while len(transfer.received) < SIZE // 8:
        transfer.step()
        world.run(0.002)
    world.kill(1)
    world.kill(2)
    world.run(10)
    transfer.step()
    assert len(transfer.received) < SIZE
    world.revive(1)
    run(transfer, 60)
    assert sha256(transfer.received).digest() == sha256(data).digest()


def test_a_tunnel_that_the_other_end_forgot_is_over() -> None:
    """A restarted member cannot go on with bytes it never saw; that is found out at once.

    Its link's session is gone too, which only a handshake tells: silence brings that forward.
    """
    world = MeshWorld(8, topology=DIAMOND)
    world.converge()
    transfer = Transfer(world, Random(4).randbytes(SIZE))
    while len(transfer.received) < SIZE // 8:
        transfer.step()
        world.run(0.002)
    world.revive(3)
    ends: list[TunnelClosed] = []
    for _ in range(200):
        world.run(0.02)
        ends += [
            told.event
            for told in transfer.north.core.tunnels.take()
            if isinstance(told.event, TunnelClosed)
        ]
        if ends:
            break
    assert [(end.code, end.is_remote) for end in ends] == [(CloseCode.UNKNOWN, True)]


def test_neighbours_have_their_stream_and_routes_beside_it_and_hear_of_the_end() -> None:
    """M6"""
    world = MeshWorld(9, topology=Topology(4, {**DIAMOND.delays_s, (0, 3): 0.006}))
    world.converge()
    data = Random(5).randbytes(SIZE)
    transfer = Transfer(world, data)
    tunnels = transfer.north.core.tunnels
    tunnels.set_mode(transfer.south.hashname, Mode.WEIGHTED)
    run(transfer, 20)
    assert bytes(transfer.received) == data
    (explained,) = tunnels.explain(transfer.south.hashname)
    assert explained.mode == "weighted"
    sizes = {path.label.split()[0]: path.sent_size for path in explained.paths}
    assert set(sizes) == {"direct", "over"}
    assert all(size > SIZE / 8 for size in sizes.values())
    tunnels.close(world.now)
    transfer.north.due()
    world.run(1.0)
    ends = [told.event for told in transfer.south.core.tunnels.take()]
    assert TunnelClosed(CloseCode.SHUTDOWN, "the node ends", is_remote=True) in ends


def test_tunnels_end_with_the_membership_of_their_peer() -> None:
    """Both its streams and ours: they do not wait for a path that never comes."""
    world = MeshWorld(5, topology=DIAMOND)
    world.converge()
    transfer = Transfer(world, bytes(1000))
    world.run_until(lambda: transfer.step() or bool(transfer.opened), 20)
    south = transfer.south.core.tunnels
    world.revoke(0, via=3)
    world.run(3.0)
    assert [told.event.code for told in south.take() if isinstance(told.event, TunnelClosed)] == [
        CloseCode.REFUSED
    ]
    assert transfer.north.hashname not in transfer.south.endpoint.links
