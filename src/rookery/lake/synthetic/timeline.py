"""The days of a synthetic dataset, in steps; each device and server reports once in a step."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import numpy as np

from rookery.lake.synthetic.noise import Floats, Ints

DAY_S = 86_400
HOUR_S = 3_600
WEEK_S = 7 * DAY_S

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class SyntheticTimeline:
    """Times are wall milliseconds, or seconds since it began."""

    start: date
    days: int
    interval_s: int

    @property
    def start_ms(self) -> int:
        midnight = datetime(self.start.year, self.start.month, self.start.day, tzinfo=UTC)
        return (midnight - _EPOCH) // timedelta(milliseconds=1)

    @property
    def end_ms(self) -> int:
        return self.start_ms + self.days * DAY_S * 1000

    @property
    def steps_a_day(self) -> int:
        return DAY_S // self.interval_s

    @property
    def steps(self) -> int:
        return self.days * self.steps_a_day

    @property
    def monday_s(self) -> int:
        """Seconds from the Monday before to the beginning."""
        return self.start.weekday() * DAY_S

    def step(self, seconds: float) -> int:
        """The one that begins at or after."""
        return -int(-seconds // self.interval_s)

    def ms(self, seconds: float) -> int:
        return self.start_ms + round(seconds * 1000)


def datetime_of(wall_ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=wall_ms)


def busyness(seconds: Floats, phase: Floats | float = 0.0) -> Floats:
    """How busy people are, by seconds since a Monday: least before dawn, less at weekends."""
    hour = np.sin((seconds / DAY_S - 0.375) * (2 * np.pi) + phase)
    is_weekend = (seconds // DAY_S) % 7 >= 5
    busy: Floats = (0.5 + 0.5 * hour) * np.where(is_weekend, 0.5, 1.0)
    return busy


def day_steps(timeline: SyntheticTimeline, day: int) -> Ints:
    return np.arange(day * timeline.steps_a_day, (day + 1) * timeline.steps_a_day, dtype=np.int64)
