"""A token bucket for each key."""

from rookery.link.token_bucket import BUCKETS_MAX, TokenBuckets


def node(number: int) -> bytes:
    return number.to_bytes(8, "big")


def test_a_burst_is_allowed_and_then_so_many_a_second() -> None:
    buckets = TokenBuckets(rate=10.0, burst=3.0)
    assert [buckets.take(node(1), 0.0) for _ in range(4)] == [True, True, True, False]
    assert not buckets.take(node(1), 0.05)
    assert buckets.take(node(1), 0.15)
    assert not buckets.take(node(1), 0.15)


def test_a_long_silence_saves_no_more_than_a_burst() -> None:
    buckets = TokenBuckets(rate=10.0, burst=2.0)
    assert buckets.take(node(1), 0.0)
    assert [buckets.take(node(1), 1e6) for _ in range(3)] == [True, True, False]


def test_one_key_cannot_use_up_the_tokens_of_another() -> None:
    buckets = TokenBuckets(rate=1.0, burst=1.0)
    assert buckets.take(node(1), 0.0)
    assert not buckets.take(node(1), 0.0)
    assert buckets.take(node(2), 0.0)


def test_a_key_that_is_forgotten_starts_full() -> None:
    buckets = TokenBuckets(rate=1.0, burst=1.0)
    assert buckets.take(node(1), 0.0)
    buckets.forget(node(1))
    buckets.forget(node(2))
    assert buckets.take(node(1), 0.0)


def test_of_too_many_keys_the_one_unused_longest_is_forgotten() -> None:
    buckets = TokenBuckets(rate=0.0, burst=1.0)
    for number in range(BUCKETS_MAX + 1):
        assert buckets.take(node(number), 0.0)
    assert not buckets.take(node(1), 0.0)
    assert buckets.take(node(0), 0.0)


def test_buckets_are_bounded_and_the_busy_ones_stay() -> None:
    buckets = TokenBuckets(0.0, 1.0)
    assert buckets.take("busy", 0.0)
    for number in range(BUCKETS_MAX + 100):
        assert buckets.take(number, 0.0)
        if number % 1000 == 0:
            assert not buckets.take("busy", 0.0)
    assert buckets.take(0, 0.0)
