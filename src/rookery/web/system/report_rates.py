"""How many reports the hub takes a second, over the last minutes."""

from collections import deque
from typing import NamedTuple

from rookery.hub.hub import Hub

SAMPLES_MAX = 120


class _ReportCountSample(NamedTuple):
    at: float  # seconds of a monotonic clock
    reports: int


class ReportRates:
    """`sample` the hub's counter now and then; a rate is the difference of two samples."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._samples: deque[_ReportCountSample] = deque(maxlen=SAMPLES_MAX)

    def sample(self, now: float) -> None:
        self._samples.append(_ReportCountSample(now, self._hub.report_counters.reports))

    def rates(self) -> list[float]:
        """Reports a second from each sample to the next, oldest first."""
        pairs = zip(self._samples, list(self._samples)[1:], strict=False)
        return [
            max(0.0, after.reports - before.reports) / max(after.at - before.at, 1e-3)
            for before, after in pairs
        ]
