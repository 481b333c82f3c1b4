"""Links of a mesh with several paths: direct ones, and routes through others (R8, R9, R10)."""

from itertools import pairwise

from rookery.link.channel import Channel
from rookery.link.link import Link
from rookery.mesh.quality.liveness import PathCondition
from rookery.sim.mesh.member import SimulatedMember
from rookery.sim.mesh.topology import Pair, Topology
from rookery.sim.mesh.world import MeshWorld, ip
from rookery.sim.network.network import Conditions
from rookery.wire.link.path import NetPath, RoutePath
from tests.link.worlds import Collector, Writer
from tests.mesh_sim.probes import Probes, route

# 0 ─ 1 directly, or over 2
TRIANGLE = Topology(3, {(0, 1): 0.01, (0, 2): 0.02, (1, 2): 0.02})
# 0 ─ 1 ─ 3, or over 2
DIAMOND = Topology(4, {(0, 1): 0.01, (1, 3): 0.01, (0, 2): 0.02, (2, 3): 0.02})
ROUTE_S = 0.04  # one way, over 2
TIMEOUT_S = 0.2  # no channel repeats anything sooner on its own


class Arrivals(Collector):
    """Also remembers when everything came."""

    def __init__(self, world: MeshWorld, node: SimulatedMember) -> None:
        self.times: list[float] = []
        self._world = world
        super().__init__(node)

    def read(self, channel: Channel, limit: int = 1 << 30) -> None:
        before = len(self.bodies)
        super().read(channel, limit)
        self.times += [self._world.now] * (len(self.bodies) - before)

    @property
    def longest_gap_s(self) -> float:
        return max(later - sooner for sooner, later in pairwise(self.times))


def linked(topology: Topology) -> tuple[MeshWorld, Link]:
    """The link from 0 to 1, which also has a route to fall back on."""
    world = MeshWorld(5, topology=topology)
    world.converge(60)
    here, there = world.members[0], world.members[1]
    link = here.endpoint.links[there.hashname]
    here.core.reach(there.hashname, world.now)
    here.due()
    world.run_until(lambda: is_usable(link, RoutePath(there.hashname)), 60)
    return world, link


def is_usable(link: Link, path: NetPath | RoutePath) -> bool:
    state = link.paths.state(path)
    return state is not None and state.is_usable


def transfer(world: MeshWorld, link: Link, size: int) -> tuple[Writer, Arrivals]:
    arrivals = Arrivals(world, world.members[1])
    return Writer(world.members[0], link, bytes(size)), arrivals


def limit(world: MeshWorld, pair: Pair, conditions: Conditions) -> None:
    for one, other in (pair, pair[::-1]):
        world.network.change(conditions, ip(one), ip(other))


def stream_of(link: Link) -> NetPath:
    (stream,) = [state.path for state in link.paths if state.is_direct and state.is_stream]
    assert isinstance(stream, NetPath)
    return stream


def test_a_reset_connection_loses_no_time_over_what_it_had_taken() -> None:
    """R9: the route carries it at once; nobody waits for a timeout."""
    world, link = linked(TRIANGLE)
    writer, arrivals = transfer(world, link, 600_000)
    world.run_until(lambda: len(arrivals.data) > 100_000, 10)
    assert link.paths.best_state is not None
    assert link.paths.best_state.is_direct
    world.members[0].hang_up(stream_of(link))
    world.run(0.011)  # the reset arrives
    world.sever(0, 1)
    world.run_until(lambda: writer.channel.is_closed, 30)
    assert writer.channel.failure is None
    assert len(arrivals.data) == 600_000
    assert arrivals.longest_gap_s <= 2 * ROUTE_S + 0.01 < TIMEOUT_S
    assert link.paths.best == RoutePath(world.members[1].hashname)


def test_what_waits_on_a_silent_path_leaves_the_moment_it_is_known_to_be_dead() -> None:
    """R9: though patience had been doubled again and again by then."""
    world, link = linked(TRIANGLE)
    writer, arrivals = transfer(world, link, 600_000)
    world.run_until(lambda: len(arrivals.data) > 100_000, 10)
    stream = stream_of(link)
    world.sever(0, 1)
    world.run_until(lambda: not is_usable(link, stream), 30)
    dead_s = world.now
    world.run_until(lambda: writer.channel.is_closed, 30)
    assert writer.channel.failure is None
    assert len(arrivals.data) == 600_000
    # At first comes what only lacked an acknowledgement, and a round trip later what is new.
    assert min(time for time in arrivals.times if time > dead_s) <= dead_s + 3 * ROUTE_S + 0.01


def test_a_link_leaves_a_path_that_has_become_slow_though_it_works() -> None:
    """R10: it is as quick as its best path, which now leads through another member."""
    world, link = linked(TRIANGLE)
    limit(world, (0, 1), Conditions(delay_s=0.4))
    world.run(10.0)
    began_s = world.now
    writer, arrivals = transfer(world, link, 600_000)
    world.run_until(lambda: writer.channel.is_closed, 30)
    assert len(arrivals.data) == 600_000
    assert world.now - began_s < 0.8  # less than one round trip of the slow one
    assert all(state.is_usable for state in link.paths)


def test_a_path_that_becomes_slow_is_left_behind_with_what_it_holds() -> None:
    """R10: at the pace of the slow one it would take a minute."""
    world, link = linked(TRIANGLE)
    for pair, delay_s in TRIANGLE.delays_s.items():
        limit(world, pair, Conditions(delay_s=delay_s, rate=1e6))
    writer, arrivals = transfer(world, link, 3_000_000)
    world.run_until(lambda: len(arrivals.data) > 500_000, 10)
    limit(world, (0, 1), Conditions(delay_s=0.01, rate=40e3))
    began_s = world.now
    world.run_until(lambda: writer.channel.is_closed, 60)
    assert len(arrivals.data) == 3_000_000
    assert world.now - began_s < 8.0
    assert link.paths.best == RoutePath(world.members[1].hashname)


def test_while_the_first_link_is_in_doubt_packets_take_two_routes() -> None:
    """R8: none is lost from the second missed ping on, though the link is not down yet."""
    world = MeshWorld(5, topology=DIAMOND)
    world.converge(60)
    probes = Probes(world, 0, 3)
    world.run(2.0)
    assert route(world, 0, 3) == [0, 1, 3]
    world.sever(0, 1)
    neighbour = world.members[0].core.neighbours[world.identifier(1)]
    world.run_until(lambda: neighbour.state is PathCondition.SUSPECT, 30)
    doubted_s = world.now
    world.run_until(lambda: neighbour.state is PathCondition.DOWN, 30)
    probes.stop()
    assert world.now - doubted_s > 0.5
    world.run(1.0)
    arrived = world.traces.arrived
    lost = [sent_s for token, sent_s in probes.sent.items() if token not in arrived]
    assert lost
    assert max(lost) <= doubted_s
