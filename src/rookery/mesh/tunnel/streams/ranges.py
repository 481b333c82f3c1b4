"""Ranges of whole numbers: disjoint, half open, rising."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator


class Ranges:
    """A set of numbers that mostly come in runs."""

    __slots__ = ("_ends", "_starts")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def __len__(self) -> int:
        """The number of ranges."""
        return len(self._starts)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._starts, self._ends, strict=True)

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._starts, number) - 1
        return at >= 0 and number < self._ends[at]

    @property
    def first(self) -> tuple[int, int]:
        return self._starts[0], self._ends[0]

    def falling(self, count: int) -> list[tuple[int, int]]:
        """The highest `count` ranges, in falling order."""
        starts, ends = self._starts, self._ends
        at = len(starts)
        stop = max(at - count, 0)
        falling: list[tuple[int, int]] = []
        while at > stop:
            at -= 1
            falling.append((starts[at], ends[at]))
        return falling

    def add(self, start: int, end: int) -> int:
        """Add numbers; how many of them are new."""
        starts, ends = self._starts, self._ends
        if not starts or start > ends[-1]:
            starts.append(start)
            ends.append(end)
            return end - start
        if start == ends[-1]:
            ends[-1] = end
            return end - start
        low, high = bisect_left(ends, start), bisect_right(starts, end)
        if low == high:
            starts.insert(low, start)
            ends.insert(low, end)
            return end - start
        known = sum(ends[low:high]) - sum(starts[low:high])
        start, end = min(start, starts[low]), max(end, ends[high - 1])
        starts[low:high], ends[low:high] = [start], [end]
        return end - start - known

    def remove(self, start: int, end: int) -> None:
        starts, ends = self._starts, self._ends
        low, high = bisect_right(ends, start), bisect_left(starts, end)
        if low >= high:
            return
        kept = []
        if starts[low] < start:
            kept.append((starts[low], start))
        if ends[high - 1] > end:
            kept.append((end, ends[high - 1]))
        starts[low:high] = [first for first, _ in kept]
        ends[low:high] = [last for _, last in kept]

    def missing(self, start: int, end: int) -> list[tuple[int, int]]:
        """The parts of start..end that are not in the set."""
        starts, ends = self._starts, self._ends
        gaps = []
        at = bisect_right(ends, start)
        while start < end:
            if at == len(starts) or starts[at] >= end:
                gaps.append((start, end))
                break
            if starts[at] > start:
                gaps.append((start, starts[at]))
            start = ends[at]
            at += 1
        return gaps

    def drop_first(self) -> int:
        """Remove the lowest range; its end."""
        del self._starts[0]
        return self._ends.pop(0)
