"""Row: from what a database answers to a typed value, checked on the way."""

from typing import TypeVar

import msgspec
from sqlalchemy import ColumnElement, Row, Table

S = TypeVar("S", bound=msgspec.Struct)
AnyRow = Row[*tuple[object, ...]]


def columns(table: Table, kind: type[S]) -> tuple[ColumnElement[object], ...]:
    """To be selected, so that `value` understands the rows."""
    return tuple(table.c[name] for name in kind.__struct_fields__)


def value(row: AnyRow, kind: type[S]) -> S:
    """One row of `columns`."""
    return msgspec.convert(dict(zip(kind.__struct_fields__, row, strict=True)), kind)
