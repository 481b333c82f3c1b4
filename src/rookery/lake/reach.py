"""Reach: a mark of those rows of a day that say something of the day before theirs, too.

Days that build on the next one are computed anew only when its mark is another. It is made while
the rows are written. Where many days are, as by the first run, they get none: then all is new.
"""

from collections.abc import Collection
from datetime import date
from typing import Literal

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 (everybody's name for it)

from rookery.lake import commit
from rookery.lake.schema.table import DATE, Table

DAYS_MAX = 3


class Reach:
    """Of the days of a table that are being replaced."""

    def __init__(self, table: Table, replaced: Collection[date] | Literal["all"] | None) -> None:
        days: list[date] = []
        if table.reaches_back and replaced is not None and not isinstance(replaced, str):
            days = sorted(replaced)
        self._days = days if len(days) <= DAYS_MAX else []
        self._table = table
        self._observation = Observation()

    def observed(self, rows: DataFrame) -> DataFrame:
        """The same rows, looked at as they pass."""
        marks = [self._mark(day).alias(day.isoformat()) for day in self._days]
        return rows.observe(self._observation, *marks) if marks else rows

    def metadata(self) -> dict[str, str]:
        """For the commit of the rows that passed."""
        if not self._days:
            return {}
        found = self._observation.get
        return commit.reach({day: found[day.isoformat()] for day in self._days})

    def _mark(self, day: date) -> Column:
        """How many they are, and a sum of their contents in which their order does not matter."""
        reaches = (F.col(DATE) == F.lit(day)) & F.expr(self._table.reaches_back)
        content = F.when(reaches, F.xxhash64(*self._table.arrow.names))
        return F.concat_ws(":", F.count(content), F.bit_xor(content))
