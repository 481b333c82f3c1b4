"""Requests: memory from the pool, references, and the border (Q1, Q7)."""

import pytest

from rookery.errors import ChannelError, CongestionError, DeniedError, UnreachableError, UsageError
from rookery.outbox.limits import REQUEST_OVERHEAD, OutboxLimits
from rookery.outbox.pool import RequestPool
from rookery.outbox.request import OutboxRequest
from rookery.outbox.state import RequestFailure, RequestState
from tests.outbox.ends import End, Pair

SIZE = 100 + REQUEST_OVERHEAD


def test_the_last_release_returns_the_memory_to_the_pool() -> None:
    """Q1: a budget in bytes, and a count of references."""
    pool = RequestPool(OutboxLimits(pool_bytes_max=2 * SIZE))
    first, second = (OutboxRequest.create(pool, bytes(100)) for _ in range(2))
    with pytest.raises(CongestionError):
        OutboxRequest.create(pool, b"")
    first.acquire()
    first.release()
    assert (pool.requests, pool.bytes_used) == (2, 2 * SIZE)
    first.release()
    assert (pool.requests, pool.bytes_used) == (1, SIZE)
    OutboxRequest.create(pool, b"").release()
    second.release()
    assert (pool.requests, pool.bytes_used) == (0, 0)


def test_a_request_that_is_too_large_is_refused_and_takes_nothing() -> None:
    pool = RequestPool(OutboxLimits(payload_size_max=10))
    with pytest.raises(UsageError):
        OutboxRequest.create(pool, bytes(11))
    assert not pool.requests


def test_our_own_mistakes_with_references_are_noticed() -> None:
    request = OutboxRequest.create(RequestPool(OutboxLimits()), b"")
    request.release()
    with pytest.raises(AssertionError):
        request.acquire()
    with pytest.raises(AssertionError):
        request.release()


def test_write_and_invalidation_exclude_each_other() -> None:
    """Q7: and the caller is told which of the two happened, as often as it asks."""
    pool = RequestPool(OutboxLimits())
    cancelled, written = OutboxRequest.create(pool, b""), OutboxRequest.create(pool, b"")
    assert cancelled.set_invalid()
    assert cancelled.set_invalid()
    assert not cancelled.begin_write()
    assert not cancelled.is_valid()
    assert cancelled.state is RequestState.CANCELLED
    assert written.begin_write()
    assert written.begin_write()
    assert not written.set_invalid()
    assert written.is_valid()


def test_a_request_is_added_once() -> None:
    pair = Pair()
    request = pair.alice.add(b"x")
    with pytest.raises(UsageError):
        pair.alice.peer.add_packet(request)
    assert request.references == 2


def test_an_invalid_request_is_not_queued() -> None:
    """Q7: stage by stage, this is the first."""
    pair = Pair()
    request = pair.alice.request(b"x")
    request.set_invalid()
    pair.alice.peer.add_packet(request)
    assert not request.is_queued
    assert request.references == 1


@pytest.mark.parametrize(
    ("state", "failure", "kind"),
    [
        (RequestState.QUEUED, None, None),
        (RequestState.ACKNOWLEDGED, None, None),
        (RequestState.ANSWERED, None, None),
        (RequestState.EXPIRED, None, UnreachableError),
        (RequestState.CANCELLED, None, DeniedError),
        (RequestState.FAILED, RequestFailure.REFUSED, ChannelError),
        (RequestState.FAILED, RequestFailure.FATE_UNKNOWN, UnreachableError),
        (RequestState.FAILED, RequestFailure.PEER_REMOVED, UnreachableError),
    ],
)
def test_every_end_has_its_error(
    state: RequestState, failure: RequestFailure | None, kind: type[Exception] | None
) -> None:
    request = End("a" * 52, "b" * 51 + "a").request(b"x")
    request.state, request.failure = state, failure
    assert kind is None if request.error is None else type(request.error) is kind
