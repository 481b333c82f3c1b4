"""Standing queues: streams that for a while have had more to carry than they could.

A burst leaves a queue that drains in a moment and does no harm. A queue that has not drained for
20 ms, and will take as long again, delays everything behind it: packets that join it are marked.
"""

from collections.abc import Callable
from typing import Final

from rookery.mesh.quality.path_quality import StreamMeasure
from rookery.wire.link.path import Path

STANDING_S: Final = 0.02

_LOOK_S: Final = 0.005  # the system is queried no more often
_QUEUES_MAX: Final = 1024

MeasureStream = Callable[[Path], StreamMeasure | None]


class _StreamQueue:
    """One stream's queue, as of the last measurement."""

    __slots__ = ("is_long", "look_at", "since")

    def __init__(self) -> None:
        self.since: float | None = None  # not empty
        self.look_at = float("-inf")
        self.is_long = False


class StandingQueues:
    """Standing queues by stream; without a measuring function there are none."""

    __slots__ = ("_measure", "_queues")

    def __init__(self, measure: MeasureStream | None) -> None:
        self._measure = measure
        self._queues: dict[Path, _StreamQueue] = {}

    def is_long(self, path: Path, now: float) -> bool:
        """True if there is a standing queue."""
        if self._measure is None:
            return False
        queue = self._queues.get(path)
        if queue is None:
            if len(self._queues) == _QUEUES_MAX:
                self._queues.clear()
            queue = self._queues[path] = _StreamQueue()
        if now >= queue.look_at:
            queue.look_at = now + _LOOK_S
            _look(queue, self._measure(path), now)
        return queue.is_long


def _look(queue: _StreamQueue, measure: StreamMeasure | None, now: float) -> None:
    queue.is_long = False
    if measure is None or not measure.unsent:
        queue.since = None
    elif queue.since is None:
        queue.since = now
    elif now - queue.since >= STANDING_S and measure.rate:
        queue.is_long = measure.unsent / measure.rate > STANDING_S
