"""M10: datagrams beside a stream, in virtual time."""

from itertools import pairwise

import pytest

from rookery.errors import ProtocolError
from rookery.mesh.quality.datagram_policy import DatagramFate
from rookery.mesh.quality.liveness import PathCondition
from rookery.mesh.quality.udp_companion import RETRY_MAX_S, RETRY_MIN_S, UdpCompanionState
from rookery.wire.link.frame_types import COMPANION, PING, PONG
from rookery.wire.link.path import NetPath, UrlPath
from rookery.wire.mesh.companion import CompanionFrame, CompanionKind
from rookery.wire.mesh.forward import DatagramClass
from rookery.wire.mesh.ping import DATA_SIZE, SMALL_SIZE, Ping, PingReport, Pong
from tests.mesh.neighbour_world import (
    ALICE_IP,
    ALICES_STREAM,
    ALICES_UDP,
    BOBS_STREAM,
    PORT,
    View,
    World,
    everything,
    nothing,
    small,
)

OFF, PROBING, UP = UdpCompanionState.OFF, UdpCompanionState.PROBING, UdpCompanionState.UP
SUSPECT, DOWN = UdpCompanionState.SUSPECT, UdpCompanionState.DOWN

UDP_ONLY = DatagramClass.DROP


def states(world: World) -> tuple[UdpCompanionState, UdpCompanionState]:
    return world.a.companion.state, world.b.companion.state


def send(
    world: World, datagram_class: DatagramClass = UDP_ONLY
) -> tuple[DatagramFate, DatagramFate]:
    frame = (b"\x0a", (bytes(99),))
    return (
        world.a.send(*frame, world.now, datagram_class),
        world.b.send(*frame, world.now, datagram_class),
    )


def up_world(seed: int = 0) -> World:
    world = World(seed)
    world.run(5.0)
    assert states(world) == (UP, UP)
    return world


# --- coming up ---


def test_datagrams_come_up_on_both_sides_once_the_stream_is() -> None:
    """M10"""
    world = World()
    assert states(world) == (OFF, OFF)
    world.run(1.0)
    assert states(world) == (UP, UP)
    assert world.alice.udp_usable
    assert world.bob.udp_usable
    assert send(world) == (DatagramFate.SENT_UDP, DatagramFate.SENT_UDP)
    assert len(world.a.paths(world.now)) == 2


def test_no_datagram_is_sent_before_the_stream_has_proved_itself() -> None:
    """M10: authentication and keys only there."""
    world = World()
    world.wire("bob", "tcp").passes = nothing
    world.run(20.0)
    assert world.alice.to_udp() == world.bob.to_udp() == []
    assert states(world) == (OFF, OFF)


def test_only_the_streams_own_address_and_port_is_tried() -> None:
    """M10: whatever happens, whatever is told."""
    world = World()
    world.chat(10.0)
    world.block_udp()
    world.chat(400.0)
    world.block_udp(everything)
    world.run(1000.0)
    assert set(world.alice.to_udp()) == {ALICES_UDP}
    assert set(world.bob.to_udp()) == {NetPath("udp4", ALICE_IP, PORT)}


def test_who_accepted_answers_where_the_datagrams_came_from() -> None:
    """M10: a NAT gives the dialling side another port for datagrams."""
    world = World()
    world.seen_port = 61000
    world.run(1.0)
    assert states(world) == (UP, UP)
    assert set(world.bob.to_udp()) == {NetPath("udp4", ALICE_IP, 61000)}


def test_datagrams_from_another_address_than_the_streams_are_not_answered() -> None:
    """M10: the same IP only."""
    world = World()
    world.block_udp()
    world.run(1.0)
    assert states(world) == (PROBING, PROBING)
    frame = ping(world)
    world.b.received(PING, NetPath("udp4", "198.51.100.66", PORT), *frame.serialize(), world.now)
    assert world.bob.to_udp() == []
    assert world.b.companion.ignored == 1


def ping(world: World, sequence: int = 1) -> Ping:
    attempt = world.attempts[-1]
    return Ping(attempt=attempt, sequence=sequence, sent_us=0, next_s=1, report=PingReport())


@pytest.mark.parametrize("blocked", ["alice", "bob"])
@pytest.mark.parametrize("passes", [nothing, small])
def test_one_way_or_small_only_is_not_up(blocked: str, passes: object) -> None:
    """M10, R5: both sizes, both ways."""
    world = World()
    world.wire(blocked, "udp").passes = nothing if passes is nothing else small
    world.run(4.9)
    assert states(world) == (PROBING, PROBING)
    world.run(6.0)
    assert states(world) == (DOWN, DOWN)
    assert not any(what == "prove" for _, what, _ in world.alice.log + world.bob.log)
    assert send(world) == (DatagramFate.DROPPED_NO_UDP, DatagramFate.DROPPED_NO_UDP)
    # Who accepted cannot know where to send before something comes.
    one_way = "no datagram passes" if blocked == "alice" else "datagrams pass one way only"
    large = "large datagrams do not pass"
    assert world.a.companion.reason == (one_way if passes is nothing else large)


def test_nothing_passes_is_said_so() -> None:
    world = World()
    world.block_udp()
    world.run(6.0)
    assert world.a.companion.reason == "no datagram passes"
    assert world.b.companion.reason == "no datagram came"


def test_who_wants_none_says_so_and_is_not_asked_again_soon() -> None:
    world = World(bob_udp=False)
    world.run(2.0)
    assert states(world) == (DOWN, OFF)
    assert world.a.companion.reason == "the peer wants none"
    asked = len(world.attempts)
    world.run(200.0)
    assert len(world.attempts) == asked
    world.run(400.0)
    assert len(world.attempts) == asked + 1


def test_who_wants_none_offers_none() -> None:
    world = World(udp=False)
    world.run(30.0)
    assert world.attempts == []


def test_an_offer_that_is_not_answered_is_made_again() -> None:
    world = World()
    world.drop = lambda _, __, head, ___: is_said(head, CompanionKind.ACCEPT)
    world.run(6.0)
    assert world.a.companion.reason == "the offer was not answered"
    world.drop = lambda _, __, ___, ____: False
    world.run(15.0)
    assert states(world) == (UP, UP)


def test_lost_words_are_said_again() -> None:
    """A stream's queue may be full: results are repeated until both know."""
    world = World()
    lost = iter([True] * 3)
    world.drop = lambda _, __, head, ___: is_said(head, CompanionKind.HEARD) and next(lost, False)
    world.run(3.0)
    assert states(world) == (UP, UP)


def test_who_is_up_still_tells_who_asks() -> None:
    """All that Alice heard is lost until she is up and has nothing more to find out."""
    world = World()
    world.drop = lambda name, _, head, __: (
        name == "alice"
        and is_said(head, CompanionKind.HEARD)
        and world.a.companion.state is PROBING
    )
    world.run(3.0)
    assert states(world) == (UP, UP)


def test_without_results_over_the_stream_nobody_is_up() -> None:
    """M10: pings alone do not do."""
    world = World()
    world.drop = lambda _, __, head, ___: is_said(head, CompanionKind.HEARD)
    world.run(6.0)
    assert states(world) == (DOWN, DOWN)


@pytest.mark.parametrize("lost", [(SMALL_SIZE,), (DATA_SIZE,), (SMALL_SIZE, DATA_SIZE)])
def test_answers_do_not_make_up_for_what_the_peer_itself_sends(lost: tuple[int, ...]) -> None:
    """M10: both sizes, from both sides."""
    world = World()
    world.drop = lambda name, path, head, body: (
        name == "bob" and path.kind == "udp4" and head[0] == PING and len(head) + len(body) in lost
    )
    world.run(4.9)
    assert states(world) == (PROBING, PROBING)


def is_said(head: bytes, kind: CompanionKind) -> bool:
    return head[:2] == bytes((COMPANION, kind))


def test_a_datagram_of_another_attempt_does_not_show_where_the_peer_is() -> None:
    """M10"""
    world = World()
    world.block_udp()
    world.run(1.0)
    stale = Ping(attempt=1, sequence=1, sent_us=0, next_s=1, report=PingReport())
    world.b.received(PING, NetPath("udp4", ALICE_IP, PORT), *stale.serialize(), world.now)
    assert set(world.bob.views) == {BOBS_STREAM}


# --- failing ---


def test_suspect_carries_nothing_and_may_recover() -> None:
    """M10, M11"""
    world = up_world()
    world.chat(10.0)
    world.block_udp()
    while world.a.companion.state is UP:
        world.chat(world.now + 0.05, every_s=0.05)
    assert world.a.companion.state is SUSPECT
    assert not world.alice.udp_usable
    assert world.a.send(b"\x0a", (bytes(9),), world.now, UDP_ONLY) is DatagramFate.DROPPED_NO_UDP
    assert world.a.send(b"\x0a", (bytes(9),), world.now) is DatagramFate.SENT_TCP
    world.block_udp(everything)
    world.chat(world.now + 1.5)
    assert world.a.companion.state is UP
    assert world.alice.udp_usable


def test_a_silent_block_is_found_while_the_stream_goes_on() -> None:
    world = up_world()
    world.chat(10.0)
    world.block_udp()
    world.chat(14.0)
    assert states(world) == (DOWN, DOWN)
    assert world.a.state is PathCondition.UP
    assert send(world) == (DatagramFate.DROPPED_NO_UDP, DatagramFate.DROPPED_NO_UDP)
    assert send(world, DatagramClass.FALLBACK) == (DatagramFate.SENT_TCP, DatagramFate.SENT_TCP)


@pytest.mark.parametrize("blocked", ["alice", "bob"])
def test_a_one_way_block_ends_it_on_both_sides(blocked: str) -> None:
    """M10: who finds out tells the other over the stream."""
    world = up_world()
    world.chat(10.0)
    world.wire(blocked, "udp").passes = nothing
    world.chat(14.0)
    assert states(world) == (DOWN, DOWN)


def test_a_path_that_stops_passing_large_datagrams_goes_down() -> None:
    """R5"""
    world = up_world()
    world.chat(10.0)
    world.block_udp(small)
    world.chat(15.5, every_s=0.1, size=500)
    assert states(world) == (DOWN, DOWN)


def test_without_its_stream_it_is_gone_at_once() -> None:
    """M10"""
    world = up_world()
    world.cut_stream()
    assert states(world) == (OFF, OFF)
    assert not world.alice.views
    assert not world.bob.views
    assert send(world) == (DatagramFate.DROPPED_NO_UDP, DatagramFate.DROPPED_NO_UDP)
    late = ping(world, 99)
    world.b.received(PING, NetPath("udp4", ALICE_IP, PORT), *late.serialize(), world.now)
    assert not world.bob.views
    assert world.a.state is PathCondition.DOWN
    assert world.a.deadline is None


def test_a_stream_that_is_silent_takes_its_datagrams_along() -> None:
    """M10: the stream is the master."""
    world = up_world()
    world.chat(10.0)
    for name in ("alice", "bob"):
        world.wire(name, "tcp").passes = nothing
    world.chat(14.0)
    assert states(world) == (OFF, OFF)
    for name in ("alice", "bob"):
        world.wire(name, "tcp").passes = everything
    world.release()
    world.chat(25.0)
    assert states(world) == (UP, UP)


def test_blocked_allowed_and_blocked_again() -> None:
    """M10, M11"""
    world = World()
    world.block_udp()
    world.chat(20.0)
    assert states(world) != (UP, UP)
    world.block_udp(everything)
    world.chat(90.0)
    assert states(world) == (UP, UP)
    world.block_udp()
    world.chat(100.0)
    assert UP not in states(world)
    assert world.a.state is PathCondition.UP


# --- trying again ---


def gaps(world: World) -> list[float]:
    times = world.offer_times
    return [later - earlier for earlier, later in pairwise(times)]


def test_failures_are_retried_ever_more_rarely_and_by_chance() -> None:
    world = World(seed=1)
    world.block_udp()
    world.run(3000.0)
    waits = [gap - 5.0 for gap in gaps(world)]  # each attempt takes 5 s
    assert 0.75 * RETRY_MIN_S <= waits[0] <= 1.25 * RETRY_MIN_S
    for number, wait_s in enumerate(waits):
        expected = min(RETRY_MIN_S * 2**number, RETRY_MAX_S)
        assert 0.75 * expected <= wait_s <= 1.25 * expected
    assert len(set(waits[6:])) > 1, "chance spreads them"


def test_two_who_give_up_at_once_have_failed_once() -> None:
    world = up_world()
    world.block_udp()
    world.chat(10.0)
    assert states(world) == (DOWN, DOWN)
    world.block_udp(everything)
    gone = CompanionFrame(CompanionKind.GONE, world.attempts[-1])
    world.a.received(COMPANION, ALICES_STREAM, *gone.serialize(), world.now)
    world.chat(10.0 + 1.25 * RETRY_MIN_S)
    assert states(world) == (UP, UP)


@pytest.mark.slow
def test_a_path_that_worked_for_a_minute_is_retried_soon() -> None:
    world = World()
    world.block_udp()
    world.chat(300.0)
    world.block_udp(everything)
    world.chat(1000.0)
    assert states(world) == (UP, UP)
    world.block_udp()
    world.chat(1010.0)
    world.block_udp(everything)
    world.chat(1025.0)
    assert states(world) == (UP, UP)


def test_a_path_that_keeps_failing_soon_after_is_not() -> None:
    world = World()
    for _ in range(8):
        while world.a.companion.state is not UP:
            world.run(world.now + 1.0)
        world.block_udp()
        world.chat(world.now + 10.0)
        world.block_udp(everything)
    assert gaps(world)[-1] > 100


# --- who begins ---


def test_two_offers_that_cross_become_one() -> None:
    """Both dialled: the greater attempt stands."""
    world = crossing()
    world.run(3.0)
    assert states(world) == (UP, UP)
    assert world.a.companion.monitor is not None
    assert world.b.companion.monitor is not None
    assert world.a.companion.monitor.attempt == world.b.companion.monitor.attempt


def crossing() -> World:
    """Each has dialled the other, at the port it listens on."""
    world = World(seed=7)
    bobs = NetPath("tcp4", ALICE_IP, PORT)
    del world.bob.views[BOBS_STREAM]
    world.bob.stream = bobs
    world.bob.views[bobs] = View(bobs, dialled=True)
    world.b = world.neighbour_of(world.bob)
    return world


@pytest.mark.parametrize("attempt", [1, 2**32 - 1])
def test_a_crossing_offer_wins_only_if_it_is_greater(attempt: int) -> None:
    world = World()
    world.block_udp()
    world.run(1.0)
    frame = CompanionFrame(CompanionKind.OFFER, attempt)
    world.a.received(COMPANION, ALICES_STREAM, *frame.serialize(), world.now)
    accepted = world.alice.sent[-1][2] == bytes((COMPANION, CompanionKind.ACCEPT, 0))
    assert accepted is (attempt > 1)


def test_a_crossing_offer_that_comes_late_costs_seconds_and_not_the_path() -> None:
    """The one begins anew what the other has accepted: then neither is whose offer failed."""
    world = crossing()
    world.run(3.0)
    stands = world.a.companion.monitor.attempt if world.a.companion.monitor is not None else 0
    late = next(attempt for attempt in world.attempts if attempt != stands)
    frame = CompanionFrame(CompanionKind.OFFER, late)
    winner, path = world.a, ALICES_STREAM
    if world.attempts[0] != stands:
        winner, path = world.b, world.bob.stream
    winner.received(COMPANION, path, *frame.serialize(), world.now)
    world.chat(12.0)
    assert UP not in states(world)
    world.chat(30.0)
    assert states(world) == (UP, UP)


def test_who_was_offered_offers_only_after_the_other_had_its_turn() -> None:
    world = crossing()
    world.block_udp()
    world.run(1000.0)
    assert len(world.offer_times) < 2 + 2 * 8
    world.block_udp(everything)
    world.run(1900.0)
    assert states(world) == (UP, UP)


# --- hostile or confused peers ---


def test_offers_come_over_streams_only() -> None:
    world = up_world()
    frame = CompanionFrame(CompanionKind.OFFER, 5)
    for path in (ALICES_UDP, UrlPath("http://192.0.2.2/")):
        with pytest.raises(ProtocolError, match="beside streams only"):
            world.a.received(COMPANION, path, *frame.serialize(), world.now)


def test_a_flood_of_offers_is_refused() -> None:
    world = up_world()
    for attempt in range(1, 5):  # one came already
        frame = CompanionFrame(CompanionKind.OFFER, attempt)
        world.b.received(COMPANION, BOBS_STREAM, *frame.serialize(), world.now)
    world.b.received(COMPANION, BOBS_STREAM, *frame.serialize(), world.now)
    with pytest.raises(ProtocolError, match="too many offers"):
        world.b.received(COMPANION, BOBS_STREAM, *frame.serialize(), world.now)


def test_a_flood_of_pings_is_not_answered_in_full() -> None:
    world = up_world()
    sent = len(world.bob.sent)
    for sequence in range(100, 200):
        frame = ping(world, sequence).serialize()
        world.b.received(PING, NetPath("udp4", ALICE_IP, PORT), *frame, world.now)
    assert len(world.bob.sent) - sent <= 20


@pytest.mark.parametrize("kind", list(CompanionKind)[1:])
def test_words_about_another_attempt_change_nothing(kind: CompanionKind) -> None:
    world = up_world()
    frame = CompanionFrame(kind, 12345)
    world.a.received(COMPANION, ALICES_STREAM, *frame.serialize(), world.now)
    assert world.a.companion.state is UP
    assert world.a.companion.ignored == 1


def test_a_second_acceptance_changes_nothing() -> None:
    world = up_world()
    frame = CompanionFrame(CompanionKind.ACCEPT, world.attempts[-1])
    world.a.received(COMPANION, ALICES_STREAM, *frame.serialize(), world.now)
    assert world.a.companion.state is UP
    assert world.a.companion.ignored == 1


def test_a_gone_ends_it() -> None:
    world = up_world()
    frame = CompanionFrame(CompanionKind.GONE, world.attempts[-1])
    world.a.received(COMPANION, ALICES_STREAM, *frame.serialize(), world.now)
    assert world.a.companion.state is DOWN
    assert not world.alice.udp_usable


def test_pings_of_another_path_or_attempt_change_nothing() -> None:
    world = up_world()
    sent = len(world.bob.sent)
    elsewhere = NetPath("udp4", ALICE_IP, 9999)
    world.b.received(PING, elsewhere, *ping(world, 99).serialize(), world.now)
    wrong = Ping(attempt=1, sequence=99, sent_us=0, next_s=1, report=PingReport())
    world.b.received(PING, NetPath("udp4", ALICE_IP, PORT), *wrong.serialize(), world.now)
    world.b.received(PING, BOBS_STREAM, *ping(world, 99).serialize(), world.now)
    pong = Pong(attempt=1, sequence=1, received_us=0, sent_us=0, report=PingReport())
    world.b.received(PONG, elsewhere, *pong.serialize(), world.now)
    world.b.received(PONG, NetPath("udp4", ALICE_IP, PORT), *pong.serialize(), world.now)
    assert len(world.bob.sent) == sent
    assert world.b.companion.state is UP


def test_who_was_offered_does_not_offer_over_a_stream_it_accepted() -> None:
    world = World()
    world.run(100.0)
    assert not any(
        head[:2] == bytes((COMPANION, CompanionKind.OFFER)) for _, _, head, _ in world.bob.sent
    )
