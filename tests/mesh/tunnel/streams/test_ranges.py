"""M4: ranges against a set of numbers."""

from hypothesis import given
from hypothesis import strategies as st

from rookery.mesh.tunnel.streams.ranges import Ranges

SPANS = st.tuples(st.integers(0, 60), st.integers(1, 12)).map(lambda pair: (pair[0], sum(pair)))


@given(st.lists(st.tuples(st.booleans(), SPANS), max_size=40), SPANS)
def test_ranges_are_a_set(
    steps: list[tuple[bool, tuple[int, int]]], asked: tuple[int, int]
) -> None:
    ranges, model = Ranges(), set[int]()
    for is_added, (start, end) in steps:
        numbers = set(range(start, end))
        if is_added:
            assert ranges.add(start, end) == len(numbers - model)
            model |= numbers
        else:
            ranges.remove(start, end)
            model -= numbers
    assert [number for start, end in ranges for number in range(start, end)] == sorted(model)
    assert all(number in ranges for number in model)
    assert not any(number in ranges for number in range(80) if number not in model)
    gaps = [number for start, end in ranges.missing(*asked) for number in range(start, end)]
    assert gaps == sorted(set(range(*asked)) - model)
    assert ranges.falling(99) == sorted(ranges, reverse=True)


def test_ranges_never_touch_each_other() -> None:
    ranges = Ranges()
    for start in (4, 0, 2):
        ranges.add(start, start + 2)
    assert list(ranges) == [(0, 6)]
    assert ranges.first == (0, 6)


def test_the_first_range_is_forgotten_with_its_end_told() -> None:
    ranges = Ranges()
    ranges.add(1, 3)
    ranges.add(5, 6)
    assert ranges.drop_first() == 3
    assert list(ranges) == [(5, 6)]
    assert len(ranges) == 1
