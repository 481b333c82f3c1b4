"""A link's life, in virtual time."""

import pytest

from rookery.errors import UnreachableError
from rookery.identity.identity import Identity
from rookery.link.events import ChannelOpened, LinkDown, LinkUp
from rookery.link.link import FRAGMENT_SIZE_DATAGRAM, FRAGMENT_SIZE_STREAM, Link, LinkState
from rookery.link.paths import PATHS_MAX
from rookery.link.session.handshake import Handshake
from rookery.sim.network.network import Conditions
from rookery.sim.world import SimulatedEndpoint, World
from rookery.wire.link.lob import Packet
from rookery.wire.link.path import NetPath, Path, PeerPath
from tests.link.worlds import Collector, Pair, Writer, is_up, notices

CUT = Conditions(blocked=True)


def echo(node: SimulatedEndpoint) -> None:
    """Send everything back, and end when the peer does."""
    Collector(node)


def best(link: Link | None) -> Path:
    assert link is not None
    assert link.paths.best is not None
    return link.paths.best


@pytest.mark.parametrize("csid", [0x40, 0x3A, 0x2A])
def test_two_strangers_link_under_any_cipher_set(csid: int) -> None:
    """T2."""
    pair = Pair(csids=(csid,)).up()
    assert pair.link.csid == csid
    assert len(notices(pair.alice, LinkUp)) == len(notices(pair.bob, LinkUp)) == 1
    assert pair.world.now < 0.1


def test_the_highest_cipher_set_of_both_is_used() -> None:
    """T2."""
    world = World()
    alice = world.node("10.0.0.1", csids=(0x3A, 0x40))
    bob = world.node("10.0.0.2", csids=(0x2A, 0x3A))
    bob.accepts_strangers = True
    link = alice.link(bob)
    world.run_until(lambda: is_up(link))
    assert link.csid == 0x3A


def test_two_that_dial_each_other_make_one_link() -> None:
    """T2."""
    pair = Pair()
    pair.bob.link(pair.alice)
    pair.up()
    pair.world.run(60)
    assert len(notices(pair.alice, LinkUp)) == len(notices(pair.bob, LinkUp)) == 1


def test_a_handshake_is_repeated_after_1_3_7_and_15_seconds_and_given_up_after_30() -> None:
    """T2."""
    world = World(conditions=CUT)
    alice, bob = world.node("10.0.0.1"), world.node("10.0.0.2")
    sent: list[float] = []
    world.overhear(lambda *_: sent.append(world.now))
    link = alice.link(bob)
    world.run(29.9)
    assert sent == [0.0, 1.0, 3.0, 7.0, 15.0]
    assert link.last_error is None
    world.run(0.3)
    assert link.last_error == "no answer"
    assert link.state is LinkState.DOWN


@pytest.mark.parametrize(("csid", "times"), [(0x40, 1), (0x3A, 5)])
def test_only_for_a_lax_peer_a_repetition_has_a_new_at(csid: int, times: int) -> None:
    """T2, T7: telehash-js answers no `at` twice, also when its answer was lost."""
    world = World(conditions=CUT)
    alice, bob = (world.node(ip, csids=(csid,)) for ip in ("10.0.0.1", "10.0.0.2"))
    sent: list[bytes] = []
    world.overhear(lambda _source, _target, data: sent.append(data))
    alice.link(bob)
    world.run(29.9)
    opened = [bob.endpoint.identity.local[csid].open(Packet.parse(data).body) for data in sent]
    shown = [Handshake.parse_inner(csid, message.inner).at or 0 for message in opened]
    assert len(shown) == 5
    assert len(set(shown)) == times
    assert shown == sorted(shown)


def test_a_link_that_is_wanted_is_dialled_again_with_growing_pauses() -> None:
    """T2."""
    world = World(conditions=CUT)
    alice, bob = world.node("10.0.0.1"), world.node("10.0.0.2")
    bob.accepts_strangers = True
    link = alice.link(bob)
    world.run(3600)
    assert 10 * 5 < alice.sent < 40 * 5
    world.network.change(Conditions())
    world.run_until(lambda: is_up(link), 400)


def test_an_idle_link_stays_up_by_keepalives() -> None:
    """T2, T7: at most half a minute apart, and few."""
    pair = Pair().up()
    before = pair.alice.sent + pair.bob.sent
    pair.world.run(600)
    assert is_up(pair.link)
    assert is_up(pair.back)
    assert notices(pair.alice, LinkDown) == []
    assert 600 / 30 * 2 <= pair.alice.sent + pair.bob.sent - before <= 600 / 25 * 4


def test_an_idle_link_survives_loss() -> None:
    """T2."""
    pair = Pair(5, Conditions(delay_s=0.05, loss=0.15)).up()
    pair.world.run(3600)
    assert notices(pair.alice, LinkDown) == notices(pair.bob, LinkDown) == []


def test_silence_takes_the_link_down_and_its_channels_with_it() -> None:
    """T2."""
    pair = Pair().up()
    Collector(pair.bob)
    channel = pair.alice.open(pair.link, "stream")
    pair.world.run(1)
    pair.world.network.change(CUT)
    pair.world.run_until(lambda: not is_up(pair.link), 65)
    assert channel.failure == "link down: no answer"
    assert notices(pair.alice, LinkDown)[0].reason == "no answer"
    with pytest.raises(UnreachableError):
        pair.alice.open(pair.link, "stream")


def test_traffic_notices_silence_sooner() -> None:
    """T2."""
    pair = Pair().up()
    Collector(pair.bob)
    Writer(pair.alice, pair.link, bytes(10_000))
    pair.world.network.change(CUT)
    pair.world.run_until(lambda: not is_up(pair.link), 35)


def test_a_peer_that_forgot_us_is_linked_again() -> None:
    """T2: an accepted link goes with its silence, a wanted one returns."""
    pair = Pair().up()
    pair.world.network.change(CUT)
    pair.world.run(90)
    assert pair.back is None
    pair.world.network.change(Conditions())
    pair.world.run_until(lambda: is_up(pair.link) and is_up(pair.back), 60)


def restarted(pair: Pair, *, clock_error_s: float = 0.0) -> SimulatedEndpoint:
    pair.world.run(5)
    bob = pair.world.node(
        "10.0.0.2", identity=pair.bob.endpoint.identity, clock_error_s=clock_error_s
    )
    bob.accepts_strangers = True
    return bob


@pytest.mark.parametrize("clock_error_s", [0.0, -3600.0, 3600.0])
def test_a_peer_that_restarted_gets_in_with_any_clock(clock_error_s: float) -> None:
    """T2: its new ephemeral fails the old channels and brings the link back."""
    pair = Pair().up()
    Collector(pair.bob)
    channel = pair.alice.open(pair.link, "stream")
    bob = restarted(pair, clock_error_s=clock_error_s)
    back = bob.link(pair.alice)
    pair.world.run_until(lambda: is_up(back), 5)
    pair.world.run(3)
    assert channel.failure == "the peer restarted"
    assert [
        type(event) for event in pair.alice.notices if isinstance(event, LinkUp | LinkDown)
    ] == [
        LinkUp,
        LinkDown,
        LinkUp,
    ]
    collector = Collector(bob)
    Writer(pair.alice, pair.link, b"hello again")
    pair.world.run(1)
    assert collector.data == b"hello again"


def test_a_restarted_peer_that_does_not_dial_is_found_by_the_next_keepalive() -> None:
    """T2."""
    pair = Pair().up()
    bob = restarted(pair)
    pair.world.run_until(lambda: is_up(bob.endpoint.links.get(pair.alice.hashname)), 60)
    pair.world.run(2)
    assert is_up(pair.link)


def test_traffic_moves_when_one_of_two_paths_is_cut() -> None:
    """T2: and the link never goes down."""
    pair = Pair(3, Conditions(delay_s=0.02), kinds=("udp4", "tcp4")).up()
    collector = Collector(pair.bob)
    data = bytes(range(256)) * 4000
    pair.world.run(5)
    assert len([state for state in pair.link.paths if state.is_usable]) == 2
    cut = best(pair.link)
    assert isinstance(cut, NetPath)
    writer = Writer(pair.alice, pair.link, data)
    pair.world.run(0.05)
    pair.world.cut(cut.kind)
    start = pair.world.now
    pair.world.run_until(lambda: writer.channel.is_closed, 60)
    assert writer.channel.failure is None
    assert collector.data == data
    assert pair.world.now - start < 8
    assert best(pair.link) != cut
    assert notices(pair.alice, LinkDown) == []


@pytest.mark.parametrize("is_told", [True, False], ids=["distrusted", "lost"])
def test_what_a_dead_path_has_not_delivered_leaves_over_another_at_once(is_told: bool) -> None:
    """R9: not after a timeout, which is longer than the test."""
    pair = Pair(3, Conditions(delay_s=0.25), kinds=("tcp4", "udp4")).up()
    collector = Collector(pair.bob)
    pair.world.run(5)
    dead = NetPath("tcp4", "10.0.0.2", 42424)
    for _ in range(8):
        pair.link.measured(dead, 0.2)
    assert best(pair.link) == dead
    pair.world.cut("tcp4")
    writer = Writer(pair.alice, pair.link, b"x" * 9000)
    pair.world.run(0.1)
    if is_told:
        pair.link.distrust(dead)
    else:
        pair.alice.lost(dead)
    pair.alice.settle()
    pair.world.run(0.3)
    assert collector.data == b"x" * 9000
    pair.world.run_until(lambda: writer.channel.is_closed, 60)
    assert writer.channel.failure is None


def test_a_slow_path_next_to_a_quick_one_costs_nothing() -> None:
    """R10: a link is as fast as its best path alone."""
    slow, took_s = "10.0.0.3", []
    for addresses in (["10.0.0.2"], ["10.0.0.2", slow]):
        world = World(2, Conditions(delay_s=0.02))
        for one, other in (("10.0.0.1", slow), (slow, "10.0.0.1")):
            world.network.change(Conditions(delay_s=0.3, rate=20e3), one, other)
        alice, bob = world.node("10.0.0.1", kinds=["tcp4"]), world.node("10.0.0.2")
        bob.paths = tuple(NetPath("tcp4", address, 42424) for address in addresses)
        world.place(bob)
        bob.accepts_strangers = True
        link, collector = alice.link(bob), Collector(bob)
        world.run(10)
        usable = {str(state.path) for state in link.paths if state.is_usable}
        assert {f"tcp4:{address}:42424" for address in addresses} <= usable
        start = world.now
        Writer(alice, link, bytes(600_000))
        world.run_until(lambda: len(collector.data) == 600_000, 60)  # noqa: B023 - run at once
        took_s.append(world.now - start)
    assert took_s[1] <= took_s[0] * 1.05


def test_acknowledgements_return_by_the_path_that_the_data_came_by() -> None:
    """R9: Bob goes on believing in a path that Alice knows to be dead."""
    pair = Pair(3, Conditions(delay_s=0.02), kinds=("tcp4", "udp4")).up()
    collector = Collector(pair.bob)
    pair.world.run(5)
    assert pair.back is not None
    for link in (pair.link, pair.back):
        for state in link.paths:
            for _ in range(30):
                link.measured(state.path, 0.04 if state.is_stream else 0.4)
        assert best(link).kind == "tcp4"
    pair.world.cut("tcp4")
    pair.link.distrust(best(pair.link))
    start = pair.world.now
    writer = Writer(pair.alice, pair.link, bytes(600_000))
    pair.world.run_until(lambda: len(collector.data) == 600_000, 60)
    assert best(pair.back).kind == "tcp4"
    assert pair.world.now - start < 1.0
    pair.world.run_until(lambda: writer.channel.is_closed, 60)
    assert writer.channel.failure is None


def test_both_ends_notice_that_handshakes_pass_in_one_direction_only() -> None:
    """The one by waiting in vain, the other by hearing the same again."""
    pair = Pair(1, Conditions(delay_s=0.02)).up()
    pair.world.run(5)
    assert pair.back is not None
    states = [link.paths.best_state for link in (pair.link, pair.back)]
    pair.world.network.block("10.0.0.2", "10.0.0.1")
    pair.link.doubt_paths(pair.world.now)
    pair.alice.endpoint.touch(pair.link)
    pair.alice.settle()
    pair.world.run(0.5)
    assert [state is not None and state.is_unanswered for state in states] == [False, False]
    pair.world.run(4)
    assert [state is not None and state.is_unanswered for state in states] == [True, True]
    pair.world.reunite()
    pair.world.run(30)
    assert [state is not None and state.is_unanswered for state in states] == [False, False]


def test_the_link_follows_a_peer_whose_address_changes() -> None:
    """T2: as behind a NAT that forgot it."""
    pair = Pair(3, Conditions(delay_s=0.02)).up()
    collector = Collector(pair.bob)
    writer = Writer(pair.alice, pair.link, bytes(500_000))
    pair.world.run(0.1)
    pair.world.move(pair.alice, "10.9.9.9")
    start = pair.world.now
    pair.world.run_until(lambda: writer.channel.is_closed, 60)
    assert len(collector.data) == 500_000
    assert pair.world.now - start < 5
    assert best(pair.back) == NetPath("udp4", "10.9.9.9", 42424)
    assert notices(pair.alice, LinkDown) == notices(pair.bob, LinkDown) == []


def test_an_idle_link_follows_too() -> None:
    """T2."""
    pair = Pair().up()
    pair.world.run(3)
    pair.world.move(pair.alice, "10.9.9.9")
    pair.world.run(70)
    assert best(pair.back) == NetPath("udp4", "10.9.9.9", 42424)
    assert notices(pair.alice, LinkDown) == notices(pair.bob, LinkDown) == []


def test_a_replay_from_a_forged_address_draws_no_traffic() -> None:
    """T2."""
    pair = Pair().up()
    captured: list[bytes] = []
    pair.world.overhear(lambda source, target, data: captured.append(data))
    Collector(pair.bob)
    Writer(pair.alice, pair.link, bytes(50_000))
    pair.world.run(60)
    victim = NetPath("udp4", "10.66.66.66", 42424)
    drawn: list[bytes] = []
    pair.world.overhear(
        lambda source, target, data: drawn.append(data) if target == victim else None
    )
    for data in captured[-400:]:
        pair.bob.deliver(victim, data)
        pair.alice.deliver(victim, data)
    Writer(pair.alice, pair.link, bytes(50_000))
    pair.world.run(60)
    assert all(data[:2] == b"\x00\x01" for data in drawn)  # handshakes and nothing else
    assert len(drawn) < 30
    assert best(pair.link) == pair.bob.paths[0]
    assert best(pair.back) == pair.alice.paths[0]


def test_a_peer_cannot_fill_our_paths() -> None:
    """T2."""
    pair = Pair().up()
    for number in range(100):
        pair.link.add_path(
            NetPath("udp4", "10.7.7.7", number + 1), pair.world.now, configured=False
        )
    pair.alice.settle()
    pair.world.run(30)
    assert len(pair.link.paths) <= PATHS_MAX
    assert is_up(pair.link)


def test_paths_that_lead_nowhere_are_forgotten_in_time() -> None:
    pair = Pair().up()
    lost = NetPath("udp4", "10.7.7.7", 1)
    pair.link.add_path(lost, pair.world.now, configured=False)
    pair.alice.settle()
    pair.world.run(400)
    assert lost not in pair.link.paths
    assert is_up(pair.link)


def test_both_learn_their_own_address_and_other_paths() -> None:
    """T3: the `path` channel."""
    world = World()
    alice = world.node("10.0.0.1", kinds=("udp4", "tcp4"))
    bob = world.node("10.0.0.2", kinds=("udp4", "tcp4"))
    bob.accepts_strangers = True
    link = alice.link(bob, paths=[bob.paths[0]])
    world.run(10)
    assert link.observed in alice.paths
    assert all(path in link.paths for path in bob.paths)


def test_packets_are_larger_where_the_path_is_a_stream() -> None:
    assert Pair(kinds=("udp4",)).up().link.fragment_size == FRAGMENT_SIZE_DATAGRAM
    assert Pair(kinds=("tcp4",)).up().link.fragment_size == FRAGMENT_SIZE_STREAM
    assert Pair(kinds=("tcp4",), csids=(0x3A,)).up().link.fragment_size == FRAGMENT_SIZE_DATAGRAM


def test_a_lost_connection_takes_its_link_down_at_once() -> None:
    """T2."""
    pair = Pair(kinds=("tcp4",)).up()
    pair.alice.endpoint.lost(pair.bob.paths[0], pair.world.now)
    pair.alice.settle()
    assert notices(pair.alice, LinkDown)[0].reason == "the last path is gone"
    pair.world.run_until(lambda: is_up(pair.link), 5)


def test_a_connection_that_cannot_be_made_is_an_answer_too() -> None:
    world = World()
    alice, bob = world.node("10.0.0.1", kinds=("tcp4",)), world.node("10.0.0.2", kinds=("tcp4",))
    link = alice.link(bob)
    alice.endpoint.lost(bob.paths[0], world.now)
    alice.endpoint.lost(NetPath("tcp4", "10.1.1.1", 5), world.now)
    assert link.last_error == "no path could be opened"


def test_a_closed_link_tells_the_peers_channels() -> None:
    """T2."""
    pair = Pair().up()
    collector = Collector(pair.bob)
    pair.alice.open(pair.link, "stream")
    pair.world.run(1)
    pair.alice.endpoint.forget(pair.link, pair.world.now)
    pair.alice.settle()
    pair.world.run(1)
    assert collector.channels[0].failure == "link closed"
    assert pair.alice.endpoint.links == {}


def test_a_key_that_is_none_leaves_the_link_unresolved() -> None:
    """T1: and raises out of no timer."""
    world = World()
    alice = world.node("10.0.0.1")
    key = bytes(64)  # of small order, which shows only in use
    link = alice.endpoint.link("n" * 52, {0x40: key}, [NetPath("udp4", "10.0.0.2", 1)], world.now)
    alice.settle()
    world.run(600)
    assert link.state is LinkState.UNRESOLVED
    assert alice.sent == 0


def test_the_next_best_cipher_set_serves_when_the_best_key_is_none() -> None:
    world = World()
    alice, bob = (world.node(f"10.0.0.{n}", csids=(0x3A, 0x40)) for n in (1, 2))
    keys = {**bob.endpoint.identity.keys, 0x40: bytes(64)}
    link = alice.endpoint.link(bob.hashname, keys, bob.paths, world.now)
    alice.settle()
    assert link.csid == 0x3A
    assert alice.sent == 1


def test_a_name_alone_waits_for_an_introduction() -> None:
    """T5: unresolved until somebody knows."""
    world = World()
    alice = world.node("10.0.0.1")
    name = Identity.generate((0x40,), world.random.randbytes).hashname
    link = alice.endpoint.link(name, {}, [], world.now)
    alice.settle()
    world.run(100)
    assert link.state is LinkState.UNRESOLVED
    assert link.last_error == "nobody knows where it is"
    assert PeerPath(name) not in link.paths


def test_channels_open_from_both_sides() -> None:
    """T3."""
    pair = Pair().up()
    there, back = Collector(pair.bob), Collector(pair.alice)
    assert pair.back is not None
    Writer(pair.alice, pair.link, b"there")
    Writer(pair.bob, pair.back, b"back")
    pair.world.run(1)
    assert (there.data, back.data) == (b"there", b"back")
    assert len(notices(pair.bob, ChannelOpened)) == 1


@pytest.mark.parametrize("seed", range(4))
def test_a_lost_answer_is_given_again(seed: int) -> None:
    """T2: the repetition after a second gets what the first handshake did not."""
    pair = Pair(seed)
    pair.world.network.change(Conditions(blocked=True), "10.0.0.2", "10.0.0.1")
    pair.world.run(0.5)
    pair.world.network.change(Conditions(), "10.0.0.2", "10.0.0.1")
    pair.world.run_until(lambda: is_up(pair.link), limit_s=1)


def test_there_is_no_listener_at_the_source_port_of_a_connection() -> None:
    """A packet over it may be opened before its handshake is: it is tried, and not dialled."""
    pair = Pair(kinds=("tcp4",)).up()
    pair.bob.endpoint.frame_reader = lambda *_: None
    data = pair.link.sealed_frame(b"\x01", b"")
    assert data is not None
    begins = NetPath("tcp4", "10.0.0.1", 50_000)
    pair.bob.endpoint.received(begins, Packet.parse(bytes(data)), pair.world.now)
    assert pair.back is not None
    state = pair.back.paths.state(begins)
    assert state is not None
    assert not state.dialled
