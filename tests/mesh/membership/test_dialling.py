"""Dialling, in virtual time."""

from collections import Counter
from random import Random

from rookery.mesh.membership.dialling import (
    AT_ONCE_MAX,
    BACKOFF_S_MAX,
    PER_S_MAX,
    START_S,
    Dialling,
)


def node(n: int) -> bytes:
    return n.to_bytes(8, "big")


def run(dialling: Dialling, until: float, *, fails_after: float | None = None) -> Counter[int]:
    """Let time pass up to `until`; how many were begun in each second."""
    begun: Counter[int] = Counter()
    failing: list[tuple[float, bytes]] = []
    for _ in range(100_000):
        times = [time for time in (dialling.deadline,) if time is not None]
        times += [time for time, _ in failing[:1]]
        if not times or min(times) > until:
            return begun
        now = min(times)
        while failing and failing[0][0] <= now:
            dialling.failed(failing.pop(0)[1], now)
        for name in dialling.take_due(now):
            begun[int(now)] += 1
            if fails_after is not None:
                failing.append((now + fails_after, name))
    raise AssertionError("it never rests")


def test_r4_starts_are_spread_and_capped() -> None:
    """R4: a thousand members wanted at once are begun sixteen a second, 32 at a time."""
    dialling = Dialling(Random(1).randbytes)
    for n in range(1000):
        dialling.want(node(n), 0.0)
    begun = run(dialling, 20.0)
    assert sum(begun.values()) == AT_ONCE_MAX == dialling.trying
    assert max(begun.values()) <= 2 * PER_S_MAX


def test_r4_those_that_fail_make_room_at_the_capped_rate() -> None:
    dialling = Dialling(Random(1).randbytes)
    for n in range(1000):
        dialling.want(node(n), 0.0)
    begun = run(dialling, 30.0, fails_after=0.1)
    assert PER_S_MAX * 25 < sum(begun.values()) <= PER_S_MAX * 32
    assert max(begun.values()) <= 2 * PER_S_MAX


def test_a_first_try_comes_within_a_second_but_not_always_at_once() -> None:
    starts = set()
    for seed in range(10):
        dialling = Dialling(Random(seed).randbytes)
        dialling.want(node(1), 5.0)
        assert dialling.deadline is not None
        assert 5.0 <= dialling.deadline <= 5.0 + START_S
        starts.add(dialling.deadline)
    assert len(starts) > 5


def test_failures_back_off_up_to_five_minutes() -> None:
    dialling = Dialling(Random(1).randbytes)
    dialling.want(node(1), 0.0)
    now, waits = 0.0, []
    for _ in range(12):
        assert dialling.deadline is not None
        waits.append(dialling.deadline - now)
        now = dialling.deadline
        assert dialling.take_due(now) == [node(1)]
        dialling.failed(node(1), now)
    assert 0.75 <= waits[1] <= 1.25
    assert 0.75 * BACKOFF_S_MAX <= waits[-1] <= 1.25 * BACKOFF_S_MAX


def test_a_try_that_nobody_answers_counts_as_failed() -> None:
    dialling = Dialling(Random(1).randbytes)
    dialling.want(node(1), 0.0)
    assert dialling.take_due(1.0) == [node(1)]
    assert dialling.take_due(32.0) == []
    assert dialling.trying == 0
    assert dialling.take_due(34.0) == [node(1)]


def test_news_of_an_address_shortens_the_wait_but_not_without_end() -> None:
    dialling = Dialling(Random(1).randbytes)
    dialling.want(node(1), 0.0)
    now = 0.0
    for _ in range(8):
        assert dialling.deadline is not None
        now = dialling.deadline
        dialling.take_due(now)
        dialling.failed(node(1), now)
    dialling.news(node(1), now)
    assert dialling.deadline is not None
    assert now + 5.0 <= dialling.deadline <= now + 6.0
    dialling.news(node(2), now)
    assert node(2) not in dialling


def test_whoever_is_linked_is_dialled_no_more() -> None:
    dialling = Dialling(Random(1).randbytes)
    dialling.want(node(1), 0.0)
    dialling.take_due(1.0)
    dialling.done(node(1))
    dialling.done(node(1))
    assert (len(dialling), dialling.trying, dialling.deadline) == (0, 0, None)
    dialling.failed(node(1), 2.0)
    assert dialling.deadline is None
    dialling.want(node(1), 3.0)
    dialling.want(node(1), 3.0)
    assert len(dialling) == 1
