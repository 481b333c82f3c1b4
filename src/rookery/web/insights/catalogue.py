"""The catalogue of insights: rows, freshness, lineage, and the pipeline runs that made the rows.

Names in SQL are those of the lake's schemas; a reader's input selects among them or is a parameter.
Runs are taken from the lineage of each row, as a table's log knows its last commit only, while days
without news keep the rows of earlier runs.
"""

import shlex
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Literal

import msgspec

from rookery.web.http.problems import RequestRefusedError
from rookery.web.insights.lake_reader import (
    VIEW_KEPT_S,
    HubLakeReader,
    LakeUnavailableError,
    Row,
    Value,
)

if TYPE_CHECKING:
    from rookery.lake.query.query_session import TableFreshness
    from rookery.lake.schema.display import Display
    from rookery.lake.schema.table import Column, Table


LATE_S = 26 * 3600  # a pipeline that runs daily is not late before
PAGE_ROWS = 25
PAGE_ROWS_MAX = 500
DOWNLOAD_ROWS_MAX = 10_000
_TEXT_MAX = 128
_WHOLE = (len("02:fc:00:00:00:01"), 52)  # lengths of a MAC and of a hashname
_UNQUOTED = frozenset('"$`\\!')  # what means something between a shell's double quotes


class ColumnShown(msgspec.Struct, frozen=True, kw_only=True):
    """A column and what it means."""

    name: str
    type: str
    unit: str
    text: str


class SourceShown(msgspec.Struct, frozen=True, kw_only=True):
    """A table that another is made from, directly or through others."""

    path: str
    stage: str
    distance: int  # 1: directly
    version: int | None  # None: there is none yet
    included: int | None  # version that direct descendants were computed from
    rows: int
    changed_at: float | None


class InsightShown(msgspec.Struct, frozen=True, kw_only=True):
    """One insight."""

    name: str
    title: str
    text: str  # its definition
    state: Literal["fresh", "behind", "late", "absent"]
    rows: int
    version: int | None
    size_bytes: int
    changed_at: float | None
    run: str
    code: str
    first: str
    last: str
    behind: list[str]
    key: list[str]
    columns: list[ColumnShown]
    lineage: list[SourceShown]


class InsightRows(msgspec.Struct, frozen=True, kw_only=True):
    """Some rows; `next` is the `offset` of the page behind."""

    name: str
    columns: list[str]
    rows: list[Row]
    next: int | None


async def catalogue(lake: HubLakeReader, now: float) -> list[InsightShown]:
    """All insights, computed already or not."""
    known = await lake.freshness()
    return [_shown(table, known, now) for table in _tables().values()]


async def insight(lake: HubLakeReader, name: str, now: float) -> InsightShown:
    """One insight; 404 for an unknown name."""
    known = await lake.freshness()
    return _shown(_table(name), known, now)


async def insight_rows(
    lake: HubLakeReader, name: str, text: str = "", offset: int = 0, count: int = PAGE_ROWS
) -> InsightRows:
    """A page of rows, of all or of those that match `text`."""
    await lake.freshness()  # by which a worker loads what the schemas need, and not our loop
    table = _table(name)
    columns = [each.name for each in table.columns if each.name != "lineage"]
    fresh, found = (await lake.freshness()).get(table.path), list[Row]()
    for since in windows(fresh, offset + count + 1):
        sql, parameters = _statement(table, text, since)
        arguments = (*parameters, count + 1, offset)
        found = await lake.rows(f"{sql} LIMIT ? OFFSET ?", *arguments, rows_max=count + 1)
        if len(found) > count:
            break
    rows = [{column: _plain(row[column]) for column in columns} for row in found[:count]]
    following = offset + count if len(found) > count else None
    return InsightRows(name=name, columns=columns, rows=rows, next=following)


def command(lake: HubLakeReader, name: str, text: str = "") -> str:
    """The command of the CLI that shows the same."""
    sql, parameters = _statement(_table(name), text)
    for value in parameters:
        quoted = "'" + str(value).replace("'", "''") + "'"
        sql = sql.replace("?", quoted, 1)
    words = f'"{sql}"' if _UNQUOTED.isdisjoint(sql) else shlex.quote(sql)
    return f"rookery lake query --data {shlex.quote(lake.url)} {words}"


def windows(fresh: "TableFreshness | None", wanted: int) -> Iterator[datetime | None]:
    """Times to look back to, until there are enough rows: the newest come first everywhere."""
    if fresh is not None and fresh.first:
        first, last = (
            datetime.fromisoformat(each).replace(tzinfo=UTC) for each in (fresh.first, fresh.last)
        )
        end = last + timedelta(days=1)
        hours = (end - first) // timedelta(hours=1)
        width = max(1, -(-wanted * hours // max(fresh.rows, 1)))
        while width < hours:
            yield end - timedelta(hours=width)
            width *= 4
    yield None


def _statement(table: "Table", text: str, since: datetime | None = None) -> tuple[str, list[Value]]:
    names = [each.name for each in table.columns if each.name != "lineage"]
    display = _display(table)
    conditions, parameters = list[str](), list[Value]()
    if since is not None:
        conditions.append("date >= ?")
        parameters.append(since.date())
        if display.first_column != "date":
            conditions.append(f"{display.first_column} >= ?")
            parameters.append(since)
    if text and display.searched:
        condition, parts = search_condition(display, text)
        conditions.append(condition)
        parameters += parts
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    sql = f"SELECT {', '.join(names)} FROM insights.{table.name}{where} ORDER BY {display.order}"  # noqa: S608 (names of the schema)
    return sql, parameters


def search_condition(display: "Display", text: str) -> tuple[str, list[Value]]:
    """Rows in which a searched column is the text or contains it, as SQL and its parameters."""
    part = text[:_TEXT_MAX].lower()
    is_whole = len(part) in _WHOLE  # found by equality, without a look into every name
    form = "{} = ?" if is_whole else "contains(lower({}), ?)"
    condition = " OR ".join(form.format(name) for name in display.searched)
    return f"({condition})", [part] * len(display.searched)


def _display(table: "Table") -> "Display":
    assert table.display is not None, f"{table.path} says nowhere how it is shown"
    return table.display


def insight_table(name: str) -> "tuple[Table, Display]":
    """The schema of an insight and how it is shown; a problem of 404 for another name."""
    table = _table(name)
    return table, _display(table)


def _tables() -> "dict[str, Table]":
    try:
        from rookery.lake.schema import insights
    except ImportError:
        raise LakeUnavailableError(
            "this hub lacks what reads a lake: pip install 'rookery[lake]'"
        ) from None
    return {table.name: table for table in insights.TABLES}


def _table(name: str) -> "Table":
    table = _tables().get(name)
    if table is None:
        raise RequestRefusedError(404, "unknown", "there is no such insight; see /api/v1/insights")
    return table


def _shown(table: "Table", known: "dict[str, TableFreshness]", now: float) -> InsightShown:
    fresh = known.get(table.path)
    return InsightShown(
        name=table.name,
        title=_display(table).title,
        text=_sentence(table.text),
        state=_state(fresh, now),
        rows=0 if fresh is None else fresh.rows,
        version=None if fresh is None else fresh.version,
        size_bytes=0 if fresh is None else fresh.size,
        changed_at=None if fresh is None else fresh.changed_at,
        run="" if fresh is None else fresh.run,
        code="" if fresh is None else fresh.code,
        first="" if fresh is None else fresh.first,
        last="" if fresh is None else fresh.last,
        behind=[] if fresh is None else list(fresh.behind),
        key=list(table.key),
        columns=[_column(each) for each in table.columns],
        lineage=_lineage(table, known),
    )


def _state(
    fresh: "TableFreshness | None", now: float
) -> Literal["fresh", "behind", "late", "absent"]:
    if fresh is None:
        return "absent"
    if now - fresh.changed_at > LATE_S:
        return "late"
    return "behind" if fresh.behind else "fresh"


def _column(column: "Column") -> ColumnShown:
    from rookery.lake.schema.dictionary import type_text

    return ColumnShown(
        name=column.name,
        type=type_text(column.type),
        unit=column.unit,
        text=_sentence(column.text),
    )


def _lineage(table: "Table", known: "dict[str, TableFreshness]") -> list[SourceShown]:
    """All tables that it is computed from, the nearest first."""
    from rookery.lake.schema.catalog import BY_PATH

    fresh, found = known.get(table.path), dict[str, SourceShown]()
    included = dict(fresh.included) if fresh is not None else {}
    level, distance = list(table.sources), 1
    while level:
        for path in level:
            if path not in found:
                source = known.get(path)
                found[path] = SourceShown(
                    path=path,
                    stage=BY_PATH[path].stage,
                    distance=distance,
                    version=None if source is None else source.version,
                    included=included.get(path),
                    rows=0 if source is None else source.rows,
                    changed_at=None if source is None else source.changed_at,
                )
        level = [up for path in level for up in BY_PATH[path].sources if up not in found]
        distance += 1
    return list(found.values())


def _plain(value: object) -> object:
    """As JSON has it; times as ISO 8601."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


RUNS_MAX = 12
RUN_ROWS_MAX = 200_000  # of a table that is looked through as a whole
_RUN_DAYS = 2


class InsightRunShown(msgspec.Struct, frozen=True, kw_only=True):
    """A pipeline run and the rows it made."""

    run: str
    inputs: str  # `facts/link_hours@3`, separated by commas
    code: str  # version of rookery
    rows: int
    first: date | None  # days that its rows belong to
    last: date | None


async def runs(lake: HubLakeReader, shown: InsightShown) -> list[InsightRunShown]:
    """The newest runs first; of a large table only those of its last days."""
    if shown.version is None:
        return []
    is_dated = bool(shown.first)
    span = "min(date) AS first, max(date) AS last" if is_dated else "NULL AS first, NULL AS last"
    where, parameters = "", list[date | int]()
    if is_dated and shown.rows > RUN_ROWS_MAX:
        where = "WHERE date > ?"
        parameters.append(date.fromisoformat(shown.last) - timedelta(days=_RUN_DAYS))
    sql = f"""
SELECT lineage.run AS run, lineage.inputs AS inputs, lineage.code AS code, count(*) AS rows, {span}
FROM insights.{shown.name} {where} GROUP BY 1, 2, 3 ORDER BY run DESC, inputs LIMIT ?"""  # noqa: S608 (a name of the schema)
    found = await lake.rows(sql, *parameters, RUNS_MAX, kept_s=VIEW_KEPT_S)
    return [msgspec.convert({**row, "run": row["run"] or ""}, InsightRunShown) for row in found]
