"""Step: how one table follows from others. It only says so; the pipeline does the work.

    days of the sources   . . b b T a a . .      T: a day whose rows are others than before
    days recomputed       . . . a T b b . .      lookback_days = 2 (b), lookahead_days = 1 (a)

A day's rows follow from that day in the sources, from `lookback_days` before it and from
`lookahead_days` behind it. So a day that was touched touches as many days the other way round; but
those before it only where what reaches back to them is other than it was, as far as that is known.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from pyspark.sql import DataFrame

from rookery.lake.schema import quarantine
from rookery.lake.schema.table import Table

REASON = "refused_for"  # the column of judged rows that says what is wrong; null: nothing


@dataclass(frozen=True)
class TransformStep:
    """A table, or days of it, that is computed anew from its sources when they change."""

    target: Table
    sources: tuple[Table, ...]
    transform: Callable[[Mapping[str, DataFrame]], DataFrame]  # by path; pure
    lookback_days: int = 1
    lookahead_days: int = 0
    weeks: int | None = None  # how much of the sources a table that is replaced as a whole reads
    references: frozenset[str] = frozenset()  # paths of sources whose changes touch no day

    def recomputed(
        self, touched: Iterable[date], reaching: Iterable[date] | None = None
    ) -> frozenset[date]:
        """The days of the target that change when these of the sources did.

        Only days among `reaching` concern those before them; all do, unless somebody knows better.
        """
        days = frozenset(touched)
        back = days if reaching is None else days.intersection(reaching)
        ahead = _widened(days, 0, self.lookback_days)
        return ahead | _widened(back, self.lookahead_days, 0)

    def read(self, recomputed: Iterable[date]) -> frozenset[date]:
        """The days of the sources that these of the target follow from."""
        return _widened(recomputed, self.lookback_days, self.lookahead_days)


@dataclass(frozen=True)
class CleanStep:
    """What landed is judged row by row; the sound and new is appended, the rest set aside."""

    target: Table
    source: Table
    judged: Callable[[DataFrame], DataFrame]  # landing → clean's columns and REASON, row by row
    fresh: Callable[[DataFrame, DataFrame], DataFrame]  # (landing, known) → new ones, each once
    rejected: Callable[[DataFrame], DataFrame]  # judged rows that have a reason → quarantine's
    lookback_days: int = 1  # days before those of the new rows that hold the same ones, perhaps
    quarantine_table: Table = quarantine.OBSERVATIONS

    @property
    def sources(self) -> tuple[Table, ...]:
        return (self.source,)

    def known(self, dates: Iterable[date]) -> frozenset[date]:
        """The days of the target that new rows of these days are compared with."""
        return _widened(dates, self.lookback_days, 1)


LakeStep = TransformStep | CleanStep


def _widened(days: Iterable[date], before: int, behind: int) -> frozenset[date]:
    return frozenset(
        day + timedelta(days=shift) for day in days for shift in range(-before, behind + 1)
    )
