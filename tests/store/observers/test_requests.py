"""P2: requests that ended are observed, whatever became of them."""

import time
from pathlib import Path

import pytest

from rookery.errors import ChannelError
from rookery.store.observers.observer import Observer, wall_ms
from rookery.store.observers.requests import request_observer
from rookery.wire.observation_content import EndedRequest
from tests.runtime.outbox.town import ALICE, BOB, town, until
from tests.store.seen import seen


async def test_each_fate_is_observed_with_its_attempts(tmp_path: Path) -> None:
    before = wall_ms()
    async with await Observer.open(tmp_path, ALICE) as observer, town(is_met=False) as there:
        alice = there.alice
        alice.core.on_ended = request_observer(ALICE, observer)
        requests = [alice.request(payload) for payload in (b"first", b"second")]
        for request in requests:
            alice.peer(BOB).add_packet(request)
        assert requests[1].set_invalid()
        for request in requests:
            request.release()
        there.street.is_open = True
        await until(lambda: len(there.seen) == 1)
        assert await alice.send(BOB, b"third", wants_reply=True) == b"re:third"
        there.bob.handler = None  # so that it refuses
        with pytest.raises(ChannelError):
            await alice.send(BOB, b"fourth", wants_reply=True)
    told = {each.number: each for each in seen(tmp_path, EndedRequest)}
    assert [(told[number].fate, told[number].attempts) for number in sorted(told)] == [
        ("acknowledged", 1),
        ("cancelled", 0),
        ("answered", 1),
        ("failed", 1),
    ]
    assert [told[number].size for number in sorted(told)] == [5, 6, 5, 6]
    for each in told.values():
        assert (each.node, each.peer) == (ALICE, BOB)
        assert before <= each.submitted_at <= each.ended_at == each.t <= wall_ms()


async def test_a_request_that_had_to_be_written_again_says_so(tmp_path: Path) -> None:
    async with await Observer.open(tmp_path, ALICE) as observer, town() as there:
        there.alice.core.on_ended = request_observer(ALICE, observer)
        there.street.break_after = iter([3000, 1 << 30]).__next__
        there.street.cut()
        await there.alice.send(BOB, bytes(20_000))
    [told] = seen(tmp_path, EndedRequest)
    assert (told.fate, told.size) == ("acknowledged", 20_000)
    assert told.attempts >= 2


async def test_a_request_made_before_the_observer_counts_from_now(tmp_path: Path) -> None:
    async with await Observer.open(tmp_path, ALICE) as observer, town() as there:
        request = there.alice.request(b"early")
        assert request.made_at == 0.0
        there.alice.core.on_ended = request_observer(ALICE, observer)
        made_at = there.alice.request(b"late")
        assert 0.0 < made_at.made_at <= time.monotonic()
        made_at.release()
        ended = there.alice.ended(request)
        there.alice.peer(BOB).add_packet(request)
        await ended
        request.release()
    [told] = seen(tmp_path, EndedRequest)
    assert told.submitted_at == told.ended_at
