"""Vital signs: the hub's own metrics as figures, and the last minutes of those that move.

`/metrics` is for a scraper; a page wants the same figures by name, and how fast counters go now.
"""

import time
from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from rookery.hub.hub import Hub

SAMPLES_MAX = 120
_REPORTS = "rookery_report_datagrams_total"

TAKEN = ("reports", "repeats", "hellos")
REFUSED = (
    *("malformed", "plain_refused", "limited", "busy", "unknown", "ahead", "late", "stale"),
    *("forged", "old_secret", "foreign_key", "denied"),
)

Labels = tuple[tuple[str, str], ...]


class HubMetricSamples:
    """Samples by name and labels, as `/metrics` gives them."""

    def __init__(self, samples: Mapping[tuple[str, Labels], float]) -> None:
        self._samples = samples

    @classmethod
    def of(cls, text: bytes) -> "HubMetricSamples":
        """Whatever of the text is not one of our families is passed over."""
        samples = {}
        for family in text_string_to_metric_families(text.decode()):
            for sample in family.samples:
                samples[sample.name, tuple(sorted(sample.labels.items()))] = sample.value
        return cls(samples)

    def get(self, name: str, **labels: str) -> float | None:
        """None where there is no such figure."""
        return self._samples.get((name, tuple(sorted(labels.items()))))

    def by(self, name: str, label: str) -> dict[str, float]:
        """All values of a family with one label, by that label."""
        return {
            dict(labels).get(label, ""): value
            for (family, labels), value in self._samples.items()
            if family == name
        }


class _ReportCountSample(NamedTuple):
    at: float  # seconds of a clock that is not set
    taken: float  # reports


class HubMetricsHistory:
    """`sample` now and then; what lies between two samples is a rate."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self.started_at = time.time()
        self._samples: deque[_ReportCountSample] = deque(maxlen=SAMPLES_MAX)

    def figures(self) -> HubMetricSamples:
        """As of now."""
        return HubMetricSamples.of(self._hub.metrics_text())

    def sample(self, now: float) -> None:
        fates = self.figures().by(_REPORTS, "fate")
        self._samples.append(_ReportCountSample(now, fates.get("reports", 0.0)))

    def rates(self) -> list[float]:
        """Reports taken a second, from one sample to the next, the oldest first."""
        pairs = zip(self._samples, list(self._samples)[1:], strict=False)
        return [
            max(0.0, after.taken - before.taken) / max(after.at - before.at, 1e-3)
            for before, after in pairs
        ]
