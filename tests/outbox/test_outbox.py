"""Outbox and peer: bounds, alarms, wake-ups, removal, and time (Q2–Q5)."""

import pytest

from rookery.errors import CongestionError, UnreachableError, UsageError
from rookery.outbox.limits import REQUEST_OVERHEAD, OutboxLimits
from rookery.outbox.state import RequestFailure, RequestState
from rookery.wire.outbox.frames import Qos
from tests.outbox.ends import BOB, Pair, numbering


def test_a_host_that_is_not_configured_is_a_typed_error() -> None:
    """Q2."""
    pair = Pair()
    with pytest.raises(UnreachableError):
        pair.alice.outbox.peer("c" * 52)
    with pytest.raises(UsageError):
        pair.alice.outbox.add_peer(BOB, numbering())
    pair.alice.outbox.remove_peer(BOB, 0.0)
    with pytest.raises(UnreachableError):
        pair.alice.outbox.remove_peer(BOB, 0.0)


def test_one_wake_up_until_the_loop_has_looked() -> None:
    """Q3: for adds and cancels together."""
    pair = Pair()
    requests = [pair.alice.request(b"x") for _ in range(100)]
    for request in requests:
        pair.alice.peer.add_packet(request)
    requests[0].set_invalid()
    assert pair.alice.wakes == 1
    pair.alice.outbox.process(0.0)
    requests[1].set_invalid()
    requests[2].set_invalid()
    assert pair.alice.wakes == 2


def test_a_full_peer_takes_no_more_and_leaks_nothing() -> None:
    for limits in (
        OutboxLimits(peer_requests_max=3),
        OutboxLimits(peer_bytes_max=3 * (REQUEST_OVERHEAD + 1)),
    ):
        pair = Pair(limits)
        for _ in range(3):
            pair.alice.add(b"x")
        extra = pair.alice.request(b"x")
        with pytest.raises(CongestionError):
            pair.alice.peer.add_packet(extra)
        assert (extra.state, extra.references) == (RequestState.NEW, 1)
        extra.release()
        assert pair.alice.outbox.pool.requests == 3


def test_an_alarm_comes_before_the_bound_and_goes_well_below_it() -> None:
    pair = Pair(OutboxLimits(peer_requests_max=10))
    for _ in range(7):
        pair.alice.add(b"x")
    assert not pair.alice.outbox.alarms
    pair.alice.add(b"x")
    (alarm,) = pair.alice.outbox.alarms
    assert (alarm.host, alarm.is_on, alarm.requests, alarm.requests_max) == (BOB, True, 8, 10)
    pair.alice.add(b"x")
    assert len(pair.alice.outbox.alarms) == 1
    pair.connect()
    pair.settle()
    assert [alarm.is_on for alarm in pair.alice.outbox.alarms] == [True, False]
    assert pair.alice.outbox.alarms[-1].requests < 6


def test_a_removed_peer_fails_what_waits_and_tells_what_may_have_been_handled() -> None:
    pair = Pair()
    pair.connect()
    pair.settle()
    written, half, waiting = (pair.alice.add(bytes(50), Qos.ONCE) for _ in range(3))
    pair.alice.write(0.0, 72 + 40)
    fresh, cancelled = pair.alice.request(b"x"), pair.alice.request(b"x")
    peer = pair.alice.peer
    peer.add_packet(fresh)
    peer.add_packet(cancelled)
    cancelled.set_invalid()
    pair.alice.outbox.remove_peer(BOB, 0.0)
    assert written.failure is RequestFailure.FATE_UNKNOWN
    assert [one.failure for one in (half, waiting, fresh)] == [RequestFailure.PEER_REMOVED] * 3
    assert cancelled.state is RequestState.CANCELLED
    for request in (written, half, waiting, fresh, cancelled):
        assert pair.alice.ends[request] == 1
        request.release()
    assert not pair.alice.outbox.pool.requests
    with pytest.raises(UnreachableError):
        peer.add_packet(pair.alice.request(b"x"))


def test_what_expires_before_a_session_is_never_written() -> None:
    pair = Pair()
    soon = pair.alice.add(b"soon", expires_at=1.0)
    later = pair.alice.add(b"later", expires_at=10.0)
    assert pair.alice.outbox.deadline == 1.0
    pair.alice.outbox.tick(1.0)
    assert soon.state is RequestState.EXPIRED
    assert isinstance(soon.error, UnreachableError)
    assert pair.alice.outbox.deadline == 10.0
    pair.now = 2.0
    pair.connect()
    assert [arrival.payload for arrival in pair.settle()] == [b"later"]
    assert later.state is RequestState.ACKNOWLEDGED
    assert pair.alice.outbox.deadline is None


def test_what_expired_while_the_timer_was_late_is_not_written_either() -> None:
    pair = Pair()
    pair.connect()
    pair.settle()
    late = pair.alice.add(b"late", expires_at=1.0)
    pair.now = 5.0
    assert pair.settle() == []
    assert late.state is RequestState.EXPIRED


@pytest.mark.parametrize("is_ticked", [True, False])
def test_what_was_written_is_not_written_again_after_its_time(is_ticked: bool) -> None:
    """A command that comes late is worse than one whose fate is unknown."""
    pair = Pair()
    pair.connect()
    pair.settle()
    request = pair.alice.add(b"x", Qos.ONCE, expires_at=1.0)
    pair.alice.write(0.0)
    pair.lose()
    if is_ticked:
        pair.now = 1.0
        pair.alice.outbox.tick(1.0)
    else:
        pair.connect()
        pair.alice.write(0.5, 20)
        pair.bob.write(0.5)
        pair.pass_on(pair.bob)
        pair.now = 1.0
    pair.connect()
    assert pair.settle() == []
    assert (request.state, request.failure) == (RequestState.FAILED, RequestFailure.FATE_UNKNOWN)


def test_a_request_in_flight_at_its_deadline_may_still_arrive() -> None:
    pair = Pair()
    pair.connect()
    pair.settle()
    request = pair.alice.add(b"x", expires_at=1.0)
    pair.alice.write(0.0)
    pair.alice.outbox.tick(1.0)
    assert not request.state.is_end
    pair.settle()
    assert request.state is RequestState.ACKNOWLEDGED


def test_half_written_and_late_is_expired_for_it_never_arrived() -> None:
    pair = Pair()
    pair.connect()
    pair.settle()
    request = pair.alice.add(bytes(50), Qos.ONCE, expires_at=1.0)
    pair.alice.write(0.0, 30)
    pair.now = 1.0
    pair.lose()
    assert request.state is RequestState.EXPIRED
    written = pair.alice.add(b"y", Qos.ONCE, 1.0, expires_at=2.0)
    pair.connect()
    pair.bob.write(1.0)
    pair.pass_on(pair.bob)
    pair.alice.write(1.0)
    pair.now = 2.0
    pair.lose()
    assert written.failure is RequestFailure.FATE_UNKNOWN


def test_sessions_that_are_too_short_for_an_acknowledgement_still_get_further() -> None:
    """An introduction says what was handled."""
    pair = Pair()
    requests = [pair.alice.add(b"%d" % number, Qos.ONCE) for number in range(10)]
    handled = []
    for _ in range(12):
        pair.connect()
        pair.bob.write(0.0)
        pair.pass_on(pair.bob)
        pair.alice.write(0.0, 78 + 40)
        pair.pass_on(pair.alice)
        while pair.bob.arrivals:
            handled.append(int(pair.bob.handle().payload))
        pair.lose()  # and with it every acknowledgement
    assert handled == list(range(10))
    assert all(request.state is RequestState.ACKNOWLEDGED for request in requests)


def test_all_requests_of_all_peers_can_be_looked_at() -> None:
    pair = Pair()
    pair.connect()
    pair.settle()
    requests = [pair.alice.add(bytes(50)) for _ in range(3)]
    pair.alice.write(0.0, 72 + 40)
    fresh = pair.alice.request(b"fresh")
    pair.alice.peer.add_packet(fresh)
    states = [request.state for request in pair.alice.outbox.requests()]
    assert states == [
        RequestState.WRITTEN,
        RequestState.WRITING,
        RequestState.IN_SESSION,
        RequestState.QUEUED,
    ]
    assert list(pair.alice.outbox.requests()) == [*requests, fresh]
