"""A figure: what was measured, what was measured beside it, and the goal that judges it."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """Bounds of a figure's ratio or value; all that are given must hold."""

    ratio_min: float | None = None
    ratio_max: float | None = None
    value_min: float | None = None
    value_max: float | None = None

    def is_met(self, value: float, ratio: float | None) -> bool:
        return _is_within(ratio, self.ratio_min, self.ratio_max) and _is_within(
            value, self.value_min, self.value_max
        )


def _is_within(value: float | None, least: float | None, most: float | None) -> bool:
    if least is None and most is None:
        return True
    return (
        value is not None and (least is None or value >= least) and (most is None or value <= most)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One row of the table; `limit` has the same unit as `value`."""

    what: str
    value: float
    unit: str
    limit: float | None = None
    against: str = ""  # what the limit is
    goal: Goal | None = None
    remark: str = ""

    @property
    def ratio(self) -> float | None:
        return self.value / self.limit if self.limit else None

    @property
    def is_met(self) -> bool | None:
        """Whether it reaches its goal; None without one."""
        return None if self.goal is None else self.goal.is_met(self.value, self.ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A row that could not be measured here, as the peer is not there."""

    what: str
    against: str
    why: str
    goal: Goal | None = None


Row = Figure | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long and how often to measure."""

    seconds: float  # of one run of a rate
    runs: int
    links: int  # of the memory measurement
    identities: int  # of the handshake measurement
    rows: tuple[int, ...]  # of the lake's measurements, one after the other
    history: Path | None = None  # where the lake's are kept; None: nowhere

    @property
    def is_quick(self) -> bool:
        return self.runs == 1


FULL = Effort(seconds=1.0, runs=5, links=10_000, identities=200, rows=(10_000_000,))
QUICK = Effort(seconds=0.1, runs=1, links=100, identities=8, rows=(6_000,))


def middle(values: Iterable[float]) -> float:
    """The median: one run that the machine disturbed does not count."""
    return float(median(values))
