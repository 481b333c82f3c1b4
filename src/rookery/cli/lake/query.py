"""`rookery lake query`: SQL over the tables, by DuckDB."""

import csv
import sys
from collections.abc import Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from rookery.cli.lake.options import LAKE_OPTIONS, LakeOptions, open_lake
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_json, print_table, remark
from rookery.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

LIMIT = 10_000
SHOWN = 100  # rows, where people look


def query(
    sql: Annotated[
        str,
        Parameter(
            name="SQL", allow_leading_hyphen=True, help="One statement that reads; - for stdin."
        ),
    ],
    /,
    *,
    csv: Annotated[
        bool, Parameter(name="--csv", negative="", help="Print CSV with a header.")
    ] = False,
    as_of: Annotated[
        str | None,
        Parameter(
            name="--as-of",
            help="Tables as they were: a version, or a time like 2026-03-02T12:00 (UTC).",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        Parameter(
            name="--limit",
            help=f"Rows at most; without it {LIMIT:,}, or {SHOWN} where people look.",
        ),
    ] = None,
    lake_options: LakeOptions = LAKE_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    if csv and output.json:
        raise UsageError("either --json or --csv")
    rows_max = (LIMIT if csv or output.json else SHOWN) if limit is None else limit
    if rows_max < 1:
        raise UsageError("--limit is at least 1")
    lake = open_lake(lake_options)
    from rookery.lake.query.lake_query import LakeQuery, parse_as_of

    time = None if as_of is None else parse_as_of(as_of)
    text = sys.stdin.read() if sql == "-" else sql
    answer = LakeQuery(lake, time).answer(text, rows_max)
    if csv:
        _print_csv(answer.rows)
    elif output.json:
        for row in answer.rows.to_pylist():
            print_json({name: _plain(value) for name, value in row.items()})
    else:
        _print_table(answer.rows)
    if answer.is_cut:
        remark(f"the first {rows_max} rows; --limit shows more")
    return OK


def _print_csv(rows: "pa.Table") -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(rows.column_names)
    for row in rows.to_pylist():
        writer.writerow([_text(value, "") for value in row.values()])


def _print_table(rows: "pa.Table") -> None:
    cells = ([_text(value, "–") for value in row.values()] for row in rows.to_pylist())
    print_table(rows.column_names, cells)


def _text(value: object, nothing: str) -> str:
    match value:
        case None:
            return nothing
        case datetime():
            text = f"{value:%Y-%m-%d %H:%M:%S.%f}"
            return text.rstrip("0").rstrip(".")
        case date():
            return value.isoformat()
        case bool():
            return str(value).lower()
        case float():
            return f"{value:.6g}"
        case list() | tuple():
            return ", ".join(_text(each, nothing) for each in value)
        case Mapping():
            return " ".join(f"{name}={_text(each, nothing)}" for name, each in value.items())
        case bytes():
            return value.hex()
    return str(value)


def _plain(value: object) -> object:
    """What JSON has a word for; numbers that are none are null."""
    match value:
        case float() if value != value or value in (float("inf"), float("-inf")):
            return None
        case datetime() | date():
            return value.isoformat()
        case Mapping():
            return {str(name): _plain(each) for name, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case bytes():
            return value.hex()
        case None | bool() | int() | float() | str():
            return value
    return str(value)
