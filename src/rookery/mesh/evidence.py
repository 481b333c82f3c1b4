"""Evidence: whether the probes of one route are lost more than its links account for.

Of the last probes, and of the large ones among them, some are lost by chance: as many as the links
of the route are known to lose. A route fails when chance alone would lose as many as it did in
less than one of a hundred thousand cases: three of three on links that lose nothing. What links
lose is their ends' word, so it excuses a part of what is lost and never all of it.
"""

from collections import deque
from collections.abc import Sequence
from math import comb, sqrt
from typing import Final

from rookery.mesh.quality import LOSS_BEATS
from rookery.wire.ping import DATA_SIZE

PROBES_MAX: Final = 32  # remembered
LOSS_MIN: Final = 0.02  # that no link is blamed for
CHANCE_MAX: Final = 1e-5
SILENT_AFTER: Final = 8  # lost in a row, whatever the links are said to lose

_LOSS_MAX: Final = 0.6
_SPANS: Final = (3, 6, 12, 24, PROBES_MAX)


class Evidence:
    """What became of the last probes along one route."""

    __slots__ = ("_all", "_large")

    def __init__(self) -> None:
        self._all: deque[bool] = deque(maxlen=PROBES_MAX)
        self._large: deque[bool] = deque(maxlen=PROBES_MAX)

    def add(self, size: int, *, is_lost: bool) -> None:
        self._all.append(is_lost)
        if size == DATA_SIZE:
            self._large.append(is_lost)

    def failure(self, loss: float) -> str | None:
        """What speaks against the route, when its links lose this share of probes or answers.

        That is their ends' word, which excuses nothing once all are lost for long enough.
        """
        last = list(self._all)[-SILENT_AFTER:]
        if len(last) == SILENT_AFTER and all(last):
            return f"{SILENT_AFTER} of the last {SILENT_AFTER} probes over it were not answered"
        margin = 2 * sqrt(loss * (1 - loss) / LOSS_BEATS)  # it is an estimate itself
        loss = min(max(loss + margin, LOSS_MIN), _LOSS_MAX)
        for fates, what in ((self._all, "probes"), (self._large, "large probes")):
            for span in _SPANS:
                last = list(fates)[-span:]
                if len(last) == span and _chance(last, loss) < CHANCE_MAX:
                    return f"{sum(last)} of the last {span} {what} over it were not answered"
        return None


def _chance(fates: Sequence[bool], loss: float) -> float:
    """That so many are lost, or more, without anybody's doing."""
    count, lost = len(fates), sum(fates)
    return sum(
        comb(count, some) * loss**some * (1 - loss) ** (count - some)
        for some in range(lost, count + 1)
    )
