"""M2, M11, R5, R7: a neighbour over a stream, in virtual time."""

import pytest

from rookery.errors import ProtocolError
from rookery.link.link import Link
from rookery.mesh.membership.link_interface import LinkInterface
from rookery.mesh.membership.neighbour import DOUBTS_BURST, DOUBTS_PER_S, Neighbour
from rookery.mesh.quality.datagram_policy import DatagramFate
from rookery.mesh.quality.liveness import PathCondition
from rookery.mesh.quality.path_quality import StreamMeasure
from rookery.wire.link.frame_types import FORWARD, PING, PONG
from rookery.wire.link.path import NetPath, PeerPath
from rookery.wire.mesh.forward import DatagramClass
from rookery.wire.mesh.ping import DATA_SIZE, Ping, PingReport
from tests.mesh.neighbour_world import (
    ALICES_STREAM,
    BOBS_STREAM,
    View,
    World,
    everything,
    member,
    nothing,
    small,
)

FRAME = (b"\x0a", (bytes(99),))


def stream_world(seed: int = 0, delay_s: float = 0.02) -> World:
    """Without datagrams, to see the stream alone."""
    return World(seed, delay_s=delay_s, udp=False, bob_udp=False)


def test_both_sides_come_up_after_one_round_trip_of_data_size() -> None:
    """R5"""
    world = stream_world()
    assert (world.a.state, world.b.state) == (PathCondition.JOINING, PathCondition.JOINING)
    world.run(0.1)
    assert (world.a.state, world.b.state) == (PathCondition.UP, PathCondition.UP)
    assert world.a.take_changed()
    assert not world.a.take_changed()
    assert world.a.cost_us(0.1) == pytest.approx(20_000 + 20_000 + 500, abs=5)
    path, rtt_s = world.alice.measures[0]
    assert (path, round(rtt_s, 6)) == (ALICES_STREAM, 0.04)


@pytest.mark.parametrize("broken", ["alice", "bob"])
def test_a_path_that_swallows_large_packets_one_way_is_up_for_nobody(broken: str) -> None:
    """R5: and it carries nothing, of any size."""
    world = stream_world()
    world.wire(broken, "tcp").passes = small
    world.run(120.0)
    assert (world.a.state, world.b.state) == (PathCondition.JOINING, PathCondition.JOINING)
    assert world.a.send(*FRAME, world.now) is DatagramFate.DROPPED_NO_PATH
    assert (world.a.cost_us(world.now), world.a.loss(world.now)) == (None, 1.0)


def test_a_path_that_stops_passing_large_packets_goes_down() -> None:
    """R5: on the side that loses data soon, on the other with its next proof."""
    world = stream_world()
    world.chat(20.0)
    world.wire("alice", "tcp").passes = small
    start = world.now
    while world.a.state is not PathCondition.DOWN:
        world.chat(world.now + 0.1, every_s=0.05, size=400)
        assert world.now < start + 5.5
    world.run(start + 35.0)
    assert world.b.state is PathCondition.DOWN
    assert world.a.send(*FRAME, world.now) is DatagramFate.DROPPED_NO_PATH


def test_the_round_trip_is_measured_all_the_time() -> None:
    """M2"""
    world = stream_world()
    world.run(20.0)
    for wire in world.wires.values():
        wire.delay_s = 0.1
    world.chat(60.0)
    row = world.a.paths(world.now)[0]
    assert row.rtt_s == pytest.approx(0.2, rel=0.02)
    assert row.rtt_min_s == pytest.approx(0.04)
    assert row.jitter_s > 0
    assert (row.path, row.condition, row.companion) == (ALICES_STREAM, PathCondition.UP, None)
    cost_us = world.a.cost_us(world.now)
    assert row.cost_us == cost_us
    assert cost_us is not None
    assert cost_us > 100_000


def test_traffic_either_way_makes_both_sides_beat_quickly() -> None:
    """M2: each by what it sees."""
    world = stream_world()
    world.run(30.0)
    before = len(world.alice.sent), len(world.bob.sent)
    world.a.send(*FRAME, world.now)
    world.run(40.0)
    for site, count in ((world.alice, before[0]), (world.bob, before[1])):
        pings = [head for _, _, head, _ in site.sent[count:] if head[0] == PING]
        assert len(pings) >= 10
    world.run(60.0)
    idle = [at for at, _, head, _ in world.alice.sent if at > 42.0 and head[0] == PING]
    assert len(idle) <= 2


def until(world: World, state: PathCondition) -> None:
    """Alice goes on talking until she thinks so."""
    start = world.now
    while world.a.state is not state:
        world.chat(world.now + 0.05, every_s=0.05)
        assert world.now < start + 10.0


def test_who_keeps_the_time_hears_of_the_first_traffic_after_a_pause() -> None:
    """M2: or the next ping would come as late as if the link were idle."""
    world = stream_world()
    told: list[float | None] = []
    neighbour = Neighbour(
        member("bob"),
        world.alice,
        now=0.0,
        random=bytes,
        hastened=lambda who: told.append(who.deadline),
    )
    world.a = neighbour
    world.run(20.0)
    assert told == []
    for _ in range(100):
        neighbour.send(*FRAME, 20.0)
    assert told == [20.0]
    neighbour.carried(20.5, size_out=10, path=BOBS_STREAM)
    assert len(told) == 2


def test_traffic_over_any_path_is_a_load_on_all() -> None:
    """R5: where nobody knows which path it took, each has to prove itself."""
    world = stream_world()
    world.run(5.0)
    world.a.carried(5.0, size_out=DATA_SIZE)
    world.run(5.5)
    assert world.alice.sent[-1][3] == DATA_SIZE


@pytest.mark.parametrize("phase_s", [0.0, 0.35, 0.7])
def test_a_silent_cut_is_noticed_within_3_and_a_half_seconds(phase_s: float) -> None:
    world = stream_world()
    world.chat(20.0 + phase_s)
    for name in ("alice", "bob"):
        world.wire(name, "tcp").passes = nothing
    cut_s = world.now
    until(world, PathCondition.SUSPECT)
    assert world.now <= cut_s + 2.6
    assert world.a.send(*FRAME, world.now) is DatagramFate.SENT_TCP, (
        "a suspect still gets its chance"
    )
    assert world.a.cost_us(world.now) is not None
    until(world, PathCondition.DOWN)
    assert world.now <= cut_s + 3.6
    assert world.a.cost_us(world.now) is None


def test_a_frozen_peer_is_down_and_comes_back() -> None:
    world = stream_world()
    world.chat(20.0)
    world.bob.is_frozen = True
    world.chat(24.0)
    assert world.a.state is PathCondition.DOWN
    world.bob.is_frozen = False
    world.run(30.0)
    assert (world.a.state, world.b.state) == (PathCondition.UP, PathCondition.UP)


def test_the_link_leaves_a_path_that_is_down_and_returns_to_it() -> None:
    world = stream_world()
    world.chat(20.0)
    for name in ("alice", "bob"):
        world.wire(name, "tcp").passes = nothing
    world.chat(24.0)
    assert [what for _, what, _ in world.alice.log] == ["hang up"]
    for name in ("alice", "bob"):
        world.wire(name, "tcp").passes = everything
    world.release()
    world.chat(30.0)
    assert [what for _, what, _ in world.alice.log] == ["hang up", "prove"]


def test_a_link_is_a_port() -> None:
    def port(link: Link) -> LinkInterface:
        return link

    assert port is not None


def test_a_reset_stream_is_gone_at_once() -> None:
    world = stream_world()
    world.run(20.0)
    world.a.take_changed()
    world.cut_stream()
    assert (world.a.state, world.b.state) == (PathCondition.DOWN, PathCondition.DOWN)
    assert world.a.take_changed()
    assert world.a.send(*FRAME, world.now) is DatagramFate.DROPPED_NO_PATH
    assert world.a.deadline is None


@pytest.mark.parametrize(("cut", "other"), [("alice", "bob"), ("bob", "alice")])
def test_a_one_way_block_shows_in_its_direction(cut: str, other: str) -> None:
    """M2: who is cut off outwards knows it from the reports that still come."""
    world = stream_world()
    world.chat(30.0)
    world.wire(cut, "tcp").passes = nothing
    world.chat(50.0)
    sides = {"alice": world.a, "bob": world.b}
    row, far = sides[cut].paths(world.now)[0], sides[other].paths(world.now)[0]
    assert row.loss_out > 0.3
    assert row.loss_in < 0.1
    assert far.loss_in > 0.3
    assert far.loss_out < 0.1


def test_loss_shows_in_its_direction_and_in_the_cost() -> None:
    """M2, R7"""
    world = stream_world(seed=3)
    world.chat(60.0)
    clean = world.a.cost_us(world.now)
    world.wire("alice", "tcp").loss = 0.15
    world.chat(120.0)
    ours, theirs = world.a.paths(world.now)[0], world.b.paths(world.now)[0]
    assert 0.05 < ours.loss_out < 0.35
    assert ours.loss_in == 0
    assert theirs.loss_in == pytest.approx(ours.loss_out, abs=0.05)
    assert theirs.loss_out == 0
    assert world.a.loss(world.now) == pytest.approx(ours.loss_out)
    dear = world.a.cost_us(world.now)
    assert clean is not None
    assert dear is not None
    assert dear > clean * 1.1


def test_a_clock_step_at_the_far_end_spoils_nothing() -> None:
    """M2: the answer counts as a sign of life, its times do not."""
    world = stream_world()
    world.run(20.0)
    before = world.a.paths(world.now)[0].rtt_s
    world.step_us = -10_000_000
    world.run(32.0)
    row = world.a.paths(world.now)[0]
    assert (row.rtt_s, row.discarded, row.missed) == (before, 1, 0)
    assert world.a.state is PathCondition.UP


def test_the_operators_offset_and_bounded_advice_are_in_the_cost() -> None:
    """R7"""
    world = stream_world()
    world.run(20.0)
    plain = world.a.cost_us(20.0)
    assert plain is not None
    world.a.offset_us = 1000
    assert world.a.cost_us(20.0) == plain + 1000
    world.a.offset_us = 0
    world.a.advice = 1.5
    assert world.a.cost_us(20.0) == pytest.approx(plain * 1.5, abs=1)
    world.a.advice = 10.0
    assert world.a.cost_us(20.0) == pytest.approx(plain * 2, abs=1)
    world.a.advice = 1.0
    assert world.a.cost_us(20.0) == plain


def test_what_the_system_knows_of_a_stream_is_in_the_cost() -> None:
    """R7"""
    world = stream_world()
    world.run(20.0)
    plain = world.a.cost_us(20.0)
    assert plain is not None
    measure = StreamMeasure(0.04, 0.001, 10, 0, 1e5, is_app_limited=False)
    world.a.stream_measured(ALICES_STREAM, measure, 20.0)
    world.a.stream_measured(BOBS_STREAM, measure, 20.0)
    assert world.a.streams == (ALICES_STREAM,)
    assert world.a.cost_us(20.0) == pytest.approx(plain + 163_840, abs=2)
    assert world.a.rate(20.0) == 1e5


def test_the_rate_shows_while_the_stream_is_full() -> None:
    """M2: by what the peer says has come, without help of the system."""
    world = stream_world()
    world.queue_size = 1000
    world.chat(30.0, every_s=0.1, size=1000)
    rate = world.a.rate(world.now)
    assert rate == pytest.approx(10_000, rel=0.4)


def test_paths_through_others_are_not_watched() -> None:
    world = stream_world()
    path = PeerPath("x" * 52)
    world.alice.views[path] = View(path, dialled=True)
    world.run(10.0)
    assert [row.path for row in world.a.paths(world.now)] == [ALICES_STREAM]


def test_paths_that_come_and_go_are_watched_while_they_are_there() -> None:
    world = stream_world()
    other = NetPath("tcp4", "198.51.100.2", 42424)
    world.alice.views[other] = View(other, dialled=True)
    world.alice.views[other].is_usable = False
    world.run(5.0)
    assert len(world.a.paths(world.now)) == 1
    world.alice.views[other].is_usable = True
    world.a.tick(world.now)
    assert {row.path for row in world.a.paths(world.now)} == {ALICES_STREAM, other}
    assert world.a.state is PathCondition.UP
    del world.alice.views[other]
    world.a.tick(world.now)
    assert [row.path for row in world.a.paths(world.now)] == [ALICES_STREAM]


def test_the_quicker_of_two_streams_is_taken() -> None:
    world = stream_world()
    world.run(20.0)
    assert world.a.send(*FRAME, world.now, DatagramClass.RELIABLE_OK) is DatagramFate.SENT_TCP
    assert world.alice.sent[-1][1] == ALICES_STREAM


def test_pings_over_paths_that_the_link_does_not_have_are_ignored() -> None:
    world = stream_world()
    ping = Ping(sequence=1, sent_us=0, next_s=1, report=PingReport())
    stranger = NetPath("tcp4", "198.51.100.9", 1)
    world.a.received(PING, stranger, *ping.serialize(), 0.0)
    world.run(1.0)
    head, body = world.pongs[-1]
    world.a.received(PONG, stranger, head, body, 1.0)
    assert world.a.ignored == 2
    assert not any(path == stranger for _, path, _, _ in world.alice.sent)


def test_who_is_no_neighbour_any_more_leaves_nothing_behind() -> None:
    world = World()
    other = NetPath("tcp4", "198.51.100.2", 42424)
    world.alice.views[other] = View(other, dialled=True)
    world.run(3.0)
    assert world.alice.udp_usable
    sent = len(world.alice.sent)
    world.a.close()
    assert set(world.alice.views) == {ALICES_STREAM, other}
    assert world.a.deadline is None
    assert len(world.alice.sent) == sent


def test_other_frames_are_none_of_its_business() -> None:
    world = stream_world()
    with pytest.raises(ProtocolError, match="frame 1 is not"):
        world.a.received(FORWARD, ALICES_STREAM, b"\1", b"", 0.0)


def test_a_flood_of_pings_is_not_answered_in_full() -> None:
    world = stream_world()
    world.run(1.0)
    before = len(world.bob.sent)
    for sequence in range(10, 200):
        ping = Ping(sequence=sequence, sent_us=0, next_s=1, report=PingReport(), size=DATA_SIZE)
        world.b.received(PING, BOBS_STREAM, *ping.serialize(), 1.0)
    assert len(world.bob.sent) - before <= 20


def test_a_neighbour_over_datagrams_alone_is_served_as_well() -> None:
    """M11: where a link has no stream."""
    world = stream_world()
    udp = NetPath("udp4", "192.0.2.2", 42424)
    del world.alice.views[ALICES_STREAM]
    world.alice.views[udp] = View(udp, dialled=True)
    del world.bob.views[BOBS_STREAM]
    seen = NetPath("udp4", "192.0.2.1", 42424)
    world.bob.views[seen] = View(seen, dialled=False)
    world.run(5.0)
    assert world.a.send(*FRAME, world.now, DatagramClass.DROP) is DatagramFate.SENT_UDP
    assert world.a.send(b"\x0a", (bytes(2000),), world.now) is DatagramFate.DROPPED_NO_PATH
    world.block_udp()
    world.chat(10.0)
    assert [(what, path) for _, what, path in world.alice.log] == [("distrust", udp)]


def test_everything_passes_again_after_a_block() -> None:
    world = stream_world()
    world.chat(20.0)
    world.wire("alice", "tcp").passes = nothing
    world.chat(30.0)
    world.wire("alice", "tcp").passes = everything
    world.release()
    world.chat(40.0)
    assert (world.a.state, world.b.state) == (PathCondition.UP, PathCondition.UP)


def state(world: World) -> PathCondition:
    """Of Bob, as Alice sees him."""
    return world.a.state


def pings_of_alice(world: World) -> int:
    return sum(head[0] == PING for _, _, head, _ in world.alice.sent)


def test_who_is_said_to_be_lost_is_asked_at_once_and_suspect_until_it_answers() -> None:
    """M2"""
    world = stream_world()
    world.run(60.0)
    pings = pings_of_alice(world)
    world.a.doubt(world.now)
    assert state(world) is PathCondition.SUSPECT
    assert world.a.take_changed()
    assert pings_of_alice(world) == pings + 1
    assert world.a.send(*FRAME, world.now) is DatagramFate.SENT_TCP  # it may well work
    world.run(world.now + 0.039)
    assert state(world) is PathCondition.SUSPECT
    world.run(world.now + 0.002)
    assert state(world) is PathCondition.UP


def test_who_is_said_to_be_lost_and_is_goes_down_by_its_own_silence() -> None:
    """M2"""
    world = stream_world()
    world.run(60.0)
    world.wire("bob", "tcp").passes = nothing
    world.a.doubt(world.now)
    world.run(62.0)
    assert state(world) is PathCondition.SUSPECT
    world.run(62.6)
    assert state(world) is PathCondition.DOWN
    world.a.doubt(world.now)  # as is known
    assert state(world) is PathCondition.DOWN
    world.wire("bob", "tcp").passes = everything
    world.release()
    world.run(75.0)
    assert state(world) is PathCondition.UP


def test_nobody_has_a_neighbour_asked_more_than_now_and_then() -> None:
    """R4: whatever they say, and only while it is up."""
    world = stream_world()
    world.a.doubt(world.now)
    assert state(world) is PathCondition.JOINING
    world.run(60.0)
    doubts = 0
    for _ in range(1000):
        world.run(world.now + 0.1)
        before = pings_of_alice(world)
        world.a.doubt(world.now)
        world.a.doubt(world.now)
        doubts += pings_of_alice(world) - before
    assert 100 * DOUBTS_PER_S <= doubts <= DOUBTS_BURST + 100 * DOUBTS_PER_S


def test_an_answer_over_any_path_ends_the_doubt() -> None:
    """M10: as the datagram path may be the one that is lost."""
    world = World()
    world.run(60.0)
    assert world.alice.udp_usable
    world.block_udp()
    world.a.doubt(world.now)
    assert state(world) is PathCondition.SUSPECT
    world.run(60.05)
    assert state(world) is PathCondition.UP
    world.wire("bob", "tcp").passes = nothing
    world.block_udp(everything)
    world.a.doubt(world.now)
    assert state(world) is PathCondition.SUSPECT
    world.run(world.now + 0.05)
    assert state(world) is PathCondition.UP
