"""Whether this process may be a copy: its two clocks disagree about how much time has passed.

A virtual machine or container that goes on from a snapshot has all keys and counters of then, and
whoever recorded what was sent since could use that. The monotonic clock goes on from where the
snapshot was taken; the wall clock is the host's, or is set soon after. An operator who sets the
clock looks the same, so what follows from it must do no harm.
"""

from collections.abc import Callable
from typing import Final

JUMP_S: Final = 0.5  # more than any clock drifts between two looks


class Continuity:
    """Asked once in each turn of the loop, before anything is sealed."""

    __slots__ = ("_offset_s", "_wall")

    def __init__(self, wall: Callable[[], float], now: float) -> None:
        self._wall = wall
        self._offset_s = wall() - now

    def is_broken(self, now: float) -> bool:
        """Whether the wall clock has jumped since the last time this was asked."""
        before, self._offset_s = self._offset_s, self._wall() - now
        return abs(self._offset_s - before) > JUMP_S
