"""Working list and expiry: marks are swept out, heads stay heads."""

from rookery.outbox.lists import RequestExpiry, WorkingList
from rookery.outbox.request import OutboxRequest
from rookery.outbox.state import RequestState
from tests.outbox.ends import Pair


def queued(count: int, expires_at: float | None = None) -> list[OutboxRequest]:
    pair = Pair()
    return [pair.alice.add(b"%d" % number, expires_at=expires_at) for number in range(count)]


def test_requeued_ones_come_before_those_added_meanwhile() -> None:
    """Q5."""
    requests, working = queued(5), WorkingList()
    for request in requests[3:]:
        working.append(request)
    working.requeue(requests[:3])
    assert list(working) == requests
    assert working.first is requests[0]


def test_dropped_ones_are_skipped_and_swept_out() -> None:
    requests, working = queued(300), WorkingList()
    for request in requests:
        working.append(request)
    for request in requests[:-1]:
        request.reset_queued()
        working.dropped(request)
    assert len(working) == 1
    assert working.first is requests[-1]
    assert working.popleft() is requests[-1]
    assert working.first is None
    assert len(working) == 0


def test_requests_are_due_in_the_order_of_their_time() -> None:
    expiry = RequestExpiry()
    late, soon, never = queued(1, 5.0)[0], queued(1, 2.0)[0], queued(1)[0]
    for request in (late, soon, never):
        expiry.add(request)
    assert expiry.deadline == 2.0
    assert expiry.take_due(1.9) == []
    assert expiry.take_due(2.0) == [soon]
    late.state = RequestState.CANCELLED
    expiry.ended(late)
    expiry.ended(never)
    assert expiry.deadline is None


def test_what_ended_is_swept_out_long_before_its_time() -> None:
    expiry, requests = RequestExpiry(), queued(3000, 1e9)
    for request in requests:
        expiry.add(request)
    for request in requests[:2900]:
        request.state = RequestState.ACKNOWLEDGED
        expiry.ended(request)
    assert len(expiry) == 100
    assert len(expiry._heap) < 1100
    assert len(expiry.take_due(1e9)) == 100
