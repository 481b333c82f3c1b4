import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.identity.replay import WINDOW_SIZE, ReplayWindow


class NaiveWindow:
    """The rule in words: remember everything, refuse the seen and the too old."""

    def __init__(self) -> None:
        self.seen: set[int] = set()

    def is_fresh(self, counter: int) -> bool:
        newest = max(self.seen, default=-1)
        return counter not in self.seen and counter > newest - WINDOW_SIZE


def steps() -> st.SearchStrategy[int]:
    """How far the next packet lies from the one before: mostly near, now and then far."""
    near = st.integers(-8, 8)
    edge = st.integers(-2, 2).map(lambda offset: offset + WINDOW_SIZE)
    far = st.integers(-3 * WINDOW_SIZE, 3 * WINDOW_SIZE)
    return st.one_of(near, near, edge, edge.map(lambda step: -step), far, st.just(1 << 60))


@given(st.lists(steps(), max_size=60))
def test_the_window_decides_as_a_perfect_memory_would(moves: list[int]) -> None:
    window, naive, counter = ReplayWindow(), NaiveWindow(), 0
    for move in moves:
        counter = max(0, counter + move)
        fresh = naive.is_fresh(counter)
        assert window.is_fresh(counter) == fresh
        if fresh:
            window.accept(counter)
            naive.seen.add(counter)


@given(st.permutations(range(40)))
def test_each_packet_of_a_shuffled_stream_passes_exactly_once(order: list[int]) -> None:
    window = ReplayWindow()
    for counter in order:
        assert window.is_fresh(counter)
        window.accept(counter)
    assert not any(window.is_fresh(counter) for counter in order)


@pytest.mark.parametrize(("age", "fresh"), [(WINDOW_SIZE - 1, True), (WINDOW_SIZE, False)])
def test_the_oldest_counter_of_the_window_still_passes(age: int, fresh: bool) -> None:
    window = ReplayWindow()
    window.accept(100_000)
    assert window.is_fresh(100_000 - age) is fresh


def test_the_first_counter_is_old_after_the_last() -> None:
    window = ReplayWindow()
    window.accept((1 << 64) - 1)
    assert not window.is_fresh(0)
    assert not window.is_fresh((1 << 64) - 1)


def test_the_window_holds_at_least_a_thousand_packets() -> None:
    assert WINDOW_SIZE >= 1024
