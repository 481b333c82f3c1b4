"""Spans: from one step to another, something is the case with a device. Asked by the million."""

from collections.abc import Iterable

import numpy as np

from rookery.lake.history.noise import Ints, pair


class Spans:
    """Of a device no two overlap."""

    def __init__(self, spans: Iterable[tuple[int, int, int]]) -> None:
        rows = np.array(list(spans), dtype=np.int64).reshape(-1, 3)
        self.order: Ints = np.lexsort((rows[:, 1], rows[:, 0]))
        self._device, self._first, self._last = rows[self.order].T
        self._keys = pair(self._device, self._first)

    def find(self, device: Ints, step: Ints) -> Ints:
        """The number of the span, as they were given, or -1."""
        if not len(self._keys):
            return np.full(len(device), -1, dtype=np.int64)
        index = np.searchsorted(self._keys, pair(device, step), side="right") - 1
        is_in = (index >= 0) & (self._device[index] == device) & (step < self._last[index])
        found: Ints = np.where(is_in, self.order[index], -1)
        return found
