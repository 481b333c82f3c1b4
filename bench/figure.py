"""A figure: what was measured, beside the limit that was measured with it."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One row of the table; `limit` has the same unit as `value`."""

    what: str
    value: float
    unit: str
    limit: float | None = None
    against: str = ""  # what the limit is
    remark: str = ""

    @property
    def ratio(self) -> float | None:
        return self.value / self.limit if self.limit else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long and how often to measure."""

    seconds: float  # of one run of a rate
    runs: int
    links: int  # of the memory measurement
    identities: int  # of the handshake measurement
    rows: tuple[int, ...]  # of the lake's measurements, one after the other
    history: Path | None = None  # where the lake's are kept; None: nowhere


FULL = Effort(seconds=1.0, runs=5, links=10_000, identities=200, rows=(1_000_000,))
QUICK = Effort(seconds=0.1, runs=1, links=100, identities=8, rows=(6_000,))


def middle(values: Iterable[float]) -> float:
    """The median: one run that the machine disturbed does not count."""
    return float(median(values))
