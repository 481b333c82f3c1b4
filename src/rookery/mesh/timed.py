"""Timed: a part of a node that has something to do at a time of its own."""

from typing import Protocol


class Timed(Protocol):
    """Asked when, and called then."""

    @property
    def deadline(self) -> float | None: ...

    def tick(self, now: float) -> None: ...
