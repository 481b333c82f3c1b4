"""Charts of insights: lines over time, as `chart.js` draws them; their tables say of what."""

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from rookery.web.http.problems import RequestRefusedError
from rookery.web.insights.catalogue import insight, insight_table, search_condition
from rookery.web.insights.lake_reader import VIEW_KEPT_S, HubLakeReader, Row, Value

if TYPE_CHECKING:
    from rookery.lake.schema.display import Lines

POINTS_MAX = 3000
LINES_MAX = 8


class ChartLine(msgspec.Struct, frozen=True, kw_only=True):
    """One series."""

    label: str
    values: list[float | None]


class InsightChart(msgspec.Struct, frozen=True, kw_only=True):
    """Lines over the same times."""

    unit: str  # as in chart.js: `bytes/s`, `ratio`, or none
    times: list[float]  # wall seconds
    series: list[ChartLine]


async def chart(lake: HubLakeReader, name: str, text: str, now: float) -> InsightChart:
    """A problem of 404 for insights that are no lines over time."""
    last = (await insight(lake, name, now)).last
    table, display = insight_table(name)
    lines = display.lines
    if lines is None:
        raise RequestRefusedError(404, "unknown", "this insight has no chart")
    conditions, parameters = list[str](), list[Value]()
    if table.is_dated:
        if not last:
            return InsightChart(unit="", times=[], series=[])
        conditions.append("date > ?")
        parameters.append(date.fromisoformat(last) - timedelta(days=lines.days))
    if lines.hours is not None:
        sql = f"SELECT max({lines.time}) AS last FROM insights.{name} WHERE {conditions[0]}"  # noqa: S608 (names of the schema)
        [row] = await lake.rows(sql, *parameters, kept_s=VIEW_KEPT_S)
        newest = row["last"]
        assert isinstance(newest, datetime)
        conditions.append(f"{lines.time} > ?")
        parameters.append(newest - timedelta(hours=lines.hours))
    if text and display.searched:
        condition, parts = search_condition(display, text)
        conditions.append(condition)
        parameters += parts
    sql = _statement(name, lines, conditions)
    rows = await lake.rows(sql, *parameters, rows_max=POINTS_MAX, kept_s=VIEW_KEPT_S)
    labels = [label for label, _ in lines.series]
    if lines.split_by:
        return _split(rows, lines.unit, labels[0])
    return _chart(rows, lines.unit, labels)


def _statement(name: str, lines: "Lines", conditions: list[str]) -> str:
    series = "".join(f", {sql} AS {label}" for label, sql in lines.series)
    split = f", {lines.split_by} AS line" if lines.split_by else ""
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    group = f"{lines.time}, {lines.split_by}" if lines.split_by else lines.time
    return f"""
SELECT epoch({lines.time}) AS "at"{split}{series}
FROM insights.{name} {where} GROUP BY {group} ORDER BY {lines.time}"""  # noqa: S608 (names of the schema)


def _chart(rows: list[Row], unit: str, names: Iterable[str]) -> InsightChart:
    return InsightChart(
        unit=unit,
        times=[_number(row["at"]) or 0.0 for row in rows],
        series=[
            ChartLine(label=name, values=[_number(row[name]) for row in rows]) for name in names
        ],
    )


def _split(rows: list[Row], unit: str, label: str) -> InsightChart:
    """One line for each value of a column."""
    times = sorted({_number(row["at"]) or 0.0 for row in rows})
    lines: dict[str, dict[float, float | None]] = {}
    for row in rows:
        values = lines.setdefault(str(row["line"]), {})
        values[_number(row["at"]) or 0.0] = _number(row[label])
    return InsightChart(
        unit=unit,
        times=times,
        series=[
            ChartLine(label=name, values=[values.get(at) for at in times])
            for name, values in sorted(lines.items())[:LINES_MAX]
        ],
    )


def _number(value: object) -> float | None:
    return None if value is None else float(str(value))
