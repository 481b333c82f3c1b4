"""How pages show an insight: title, order, searched columns, view and chart.

It is stated where the insight's table is defined, so that one more insight needs no code in the
web. These are descriptions only: names of columns and SQL expressions over the table's own rows,
from which `rookery.web.insights` builds its statements. Nothing here needs Arrow or Spark.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Spans:
    """A view: from when to when something was, on one axis of time, a row for each entity.

    The table has the columns `from_at` and `to_at`.
    """

    entity: str  # SQL
    kind: str  # SQL: tells spans of one entity apart, by colour


@dataclass(frozen=True)
class Lines:
    """A chart: series over the same times."""

    time: str  # column
    series: tuple[tuple[str, str], ...]  # label, and SQL that aggregates the rows of one time
    unit: str = ""  # as `chart.js` knows it: `bytes/s`, `ratio` or none
    days: int = 14  # of a dated table: how far to look back from its newest day
    hours: int | None = None  # the same from its newest time, where days hold too many points
    split_by: str = ""  # column: one line for each of its values, of the only series


View = Literal["days", "week", "critical"] | Spans
"""`days`: a strip of days for each device; `week`: a heat map of the hours of the week of one link;
`critical`: what cuts off whom. These are made for the tables that have them."""


@dataclass(frozen=True)
class Display:
    """How an insight is shown."""

    title: str  # English; pages translate it
    order: str  # SQL: the most interesting rows first, in a dated table the newest
    searched: tuple[str, ...] = ()  # columns that the filter looks for a text in
    view: View | None = None
    lines: Lines | None = None
    units: tuple[tuple[str, str], ...] = ()  # by `kind`, of columns with several units

    @property
    def first_column(self) -> str:
        """The column that rows are ordered by first."""
        return self.order.split()[0].rstrip(",")
