"""Hearsay: others say that they have lost a neighbour, so its paths must prove themselves.

Each must answer a beat that was sent after that. Only now and then, and only its own silence brings
it down: they may be lying.
"""

from collections.abc import Collection, Iterable

from rookery.mesh.bucket import Bucket
from rookery.mesh.watch import Watch
from rookery.wire.path import Path

DOUBTS_PER_S = 0.2  # whatever others say
DOUBTS_BURST = 3.0


class Hearsay:
    """About one neighbour; true while it is in doubt."""

    __slots__ = ("_bucket", "_doubted")

    def __init__(self, now: float) -> None:
        self._bucket = Bucket(DOUBTS_PER_S, DOUBTS_BURST, now)
        self._doubted: dict[Path, int] = {}  # and the first of its beats that settles the matter

    def __bool__(self) -> bool:
        return bool(self._doubted)

    def is_worth_asking(self, now: float) -> bool:
        """Whether to ask at once; this much was spent on it then."""
        return not self._doubted and self._bucket.take(1.0, now)

    def asked(self, watches: Iterable[Watch]) -> None:
        """Beats have just left over these paths."""
        self._doubted = {watch.path: watch.beats.sequence for watch in watches}

    def answered(self, path: Path, sequence: int) -> None:
        if sequence >= self._doubted.get(path, sequence + 1):
            self._doubted.clear()

    def keep_to(self, paths: Collection[Path]) -> None:
        """Of others their own beats have said more by now."""
        self._doubted = {path: beat for path, beat in self._doubted.items() if path in paths}
