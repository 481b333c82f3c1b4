"""Virtual time: what is to happen, in order."""

import heapq
from collections.abc import Callable
from itertools import count


class Timeline:
    """`after` so many seconds something happens; `step` lets the next thing happen."""

    def __init__(self) -> None:
        self.now = 0.0
        self._order = count()
        self._due: list[tuple[float, int, Callable[[], None]]] = []

    def after(self, seconds: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._due, (self.now + seconds, next(self._order), what))

    def step(self) -> bool:
        if not self._due:
            return False
        self.now, _, what = heapq.heappop(self._due)
        what()
        return True
