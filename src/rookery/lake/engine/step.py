"""Steps: how one table follows from others. A step is a description; the pipeline runs it.

    days of the sources   . . b b T a a . .      T: a day with changed rows
    days recomputed       . . . a T b b . .      lookback_days = 2 (b), lookahead_days = 1 (a)

A day's rows follow from that day in the sources, from `lookback_days` before it and from
`lookahead_days` after it. So a changed day affects as many days in the other direction; but those
before it only if the fingerprint of its rows about the day before has changed, where one is known.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from pyspark.sql import DataFrame

from rookery.lake.schema import quarantine
from rookery.lake.schema.table import Table

REASON = "refused_for"  # column of judged rows: what is wrong; null: nothing


@dataclass(frozen=True)
class TransformStep:
    """A table that is recomputed from its sources, whole or by the days that changed."""

    target: Table
    sources: tuple[Table, ...]
    transform: Callable[[Mapping[str, DataFrame]], DataFrame]  # by path; pure
    lookback_days: int = 1
    lookahead_days: int = 0
    weeks: int | None = None  # how much of the sources a table that is replaced as a whole reads
    references: frozenset[str] = frozenset()  # paths of sources whose changes touch no day

    def recomputed(
        self, touched: Iterable[date], affecting_day_before: Iterable[date] | None = None
    ) -> frozenset[date]:
        """The days of the target that change when these of the sources did.

        Only days among `affecting_day_before` affect those before them; all do if it is None.
        """
        days = frozenset(touched)
        back = days if affecting_day_before is None else days.intersection(affecting_day_before)
        ahead = _widened(days, 0, self.lookback_days)
        return ahead | _widened(back, self.lookahead_days, 0)

    def read(self, recomputed: Iterable[date]) -> frozenset[date]:
        """The days of the sources that these of the target follow from."""
        return _widened(recomputed, self.lookback_days, self.lookahead_days)


@dataclass(frozen=True)
class CleanStep:
    """Landed rows are validated one by one: new valid ones are appended, bad ones quarantined."""

    target: Table
    source: Table
    judged: Callable[[DataFrame], DataFrame]  # landing → clean's columns and REASON, row by row
    fresh: Callable[[DataFrame, DataFrame], DataFrame]  # (landing, known) → new ones, each once
    rejected: Callable[[DataFrame], DataFrame]  # judged rows that have a reason → quarantine's
    lookback_days: int = 1  # days before those of the new rows that may hold repeats of them
    quarantine_table: Table = quarantine.OBSERVATIONS

    @property
    def sources(self) -> tuple[Table, ...]:
        return (self.source,)

    def known(self, dates: Iterable[date]) -> frozenset[date]:
        """Days of the target that new rows of these days are compared with."""
        return _widened(dates, self.lookback_days, 1)


LakeStep = TransformStep | CleanStep


def _widened(days: Iterable[date], before: int, behind: int) -> frozenset[date]:
    return frozenset(
        day + timedelta(days=shift) for day in days for shift in range(-before, behind + 1)
    )
