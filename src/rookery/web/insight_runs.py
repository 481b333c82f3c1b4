"""Runs: which of the pipeline's made the rows of an insight, by the lineage that every row carries.

The log of a table tells of its last commit; days that nothing new belongs to keep the rows of
earlier runs, and the versions of the tables that those were made from.
"""

from datetime import date, timedelta

import msgspec

from rookery.web.insights import InsightShown
from rookery.web.lake_view import VIEW_KEPT_S, LakeView

RUNS_MAX = 12
ROWS_MAX = 200_000  # of a table that is looked through as a whole
_DAYS = 2


class RunShown(msgspec.Struct, frozen=True, kw_only=True):
    """A run, and what it has a part in."""

    run: str
    inputs: str  # `facts/link_hours@3`, separated by commas
    code: str  # version of rookery
    rows: int
    first: date | None  # days that its rows belong to
    last: date | None


async def runs(lake: LakeView, shown: InsightShown) -> list[RunShown]:
    """The newest first; of a large table those of its last days."""
    if shown.version is None:
        return []
    is_dated = bool(shown.first)
    span = "min(date) AS first, max(date) AS last" if is_dated else "NULL AS first, NULL AS last"
    where, given = "", list[date | int]()
    if is_dated and shown.rows > ROWS_MAX:
        where = "WHERE date > ?"
        given.append(date.fromisoformat(shown.last) - timedelta(days=_DAYS))
    sql = f"""
SELECT lineage.run AS run, lineage.inputs AS inputs, lineage.code AS code, count(*) AS rows, {span}
FROM insights.{shown.name} {where} GROUP BY 1, 2, 3 ORDER BY run DESC, inputs LIMIT ?"""  # noqa: S608 (a name of the schema)
    found = await lake.rows(sql, *given, RUNS_MAX, kept_s=VIEW_KEPT_S)
    return [msgspec.convert({**row, "run": row["run"] or ""}, RunShown) for row in found]
