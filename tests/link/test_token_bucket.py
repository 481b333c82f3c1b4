"""Token buckets: bursts are allowed, a higher rate is not."""

from hypothesis import given
from hypothesis import strategies as st

from rookery.link.token_bucket import TokenBucket


def test_a_burst_passes_and_then_the_rate_holds() -> None:
    bucket = TokenBucket(rate=2.0, burst=5.0, now=10.0)
    assert [bucket.take(1.0, 10.0) for _ in range(7)] == [True] * 5 + [False] * 2
    assert not bucket.take(1.0, 10.4)
    assert bucket.take(1.0, 10.5)
    assert not bucket.take(1.0, 10.5)


def test_no_more_than_a_burst_is_saved_up() -> None:
    bucket = TokenBucket(rate=2.0, burst=5.0, now=0.0)
    assert [bucket.take(1.0, 1000.0) for _ in range(6)] == [True] * 5 + [False]


def test_what_was_spent_already_becomes_a_debt_of_one_burst_at_most() -> None:
    bucket = TokenBucket(rate=1.0, burst=5.0, now=0.0)
    bucket.charge(100.0, 0.0)
    assert bucket.level(0.0) == -5.0
    assert not bucket.take(1.0, 5.5)
    assert bucket.take(1.0, 6.0)


def test_a_clock_set_back_gives_nothing_and_does_not_stop_it() -> None:
    bucket = TokenBucket(rate=2.0, burst=5.0, now=100_000.0)
    assert bucket.take(5.0, 100_000.0)
    assert not bucket.take(1.0, 10.0)
    assert bucket.take(2.0, 11.0)
    assert not bucket.take(1.0, 11.0)


@given(st.floats(0.1, 1000.0), st.floats(1.0, 1000.0), st.floats(0.0, 1.0), st.floats(0.0, 1e6))
def test_it_is_ready_when_it_says(rate: float, burst: float, part: float, now: float) -> None:
    bucket = TokenBucket(rate, burst, now)
    bucket.charge(burst, now)
    assert bucket.take(part * burst, bucket.ready_at(part * burst, now))


def test_a_full_bucket_is_ready_now() -> None:
    bucket = TokenBucket(rate=1.0, burst=2.0, now=0.0)
    assert bucket.ready_at(2.0, 0.0) == 0.0
    assert bucket.ready_at(50.0, 0.0) == 0.0
