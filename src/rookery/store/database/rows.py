"""Rows: conversion of rows to typed values, and inserting or updating in one statement (upsert)."""

from collections.abc import Callable
from typing import TypeVar

import msgspec
from sqlalchemy import ColumnCollection, ColumnElement, Dialect, Insert, Row, Table, case
from sqlalchemy.dialects import mysql, sqlite

S = TypeVar("S", bound=msgspec.Struct)
AnyRow = Row[*tuple[object, ...]]


def columns(table: Table, kind: type[S]) -> tuple[ColumnElement[object], ...]:
    """The columns to select for `parse_row`."""
    return tuple(table.c[name] for name in kind.__struct_fields__)


def parse_row(row: AnyRow, kind: type[S]) -> S:
    """Convert and check one row of `columns`."""
    return msgspec.convert(dict(zip(kind.__struct_fields__, row, strict=True)), kind)


# (existing row, new row) -> whether to update.
Columns = ColumnCollection[str, ColumnElement[object]]
Guard = Callable[[Columns, Columns], ColumnElement[bool]]


def upsert(dialect: Dialect, table: Table, guard: Guard | None = None) -> Insert:
    """Insert a row or update the one with the same key, in the dialect of the database."""
    names = [column.name for column in table.columns if not column.primary_key]
    if dialect.name == "sqlite":
        statement = sqlite.insert(table)
        coming = statement.excluded
        return statement.on_conflict_do_update(
            index_elements=list(table.primary_key),
            set_={name: coming[name] for name in names},
            where=guard(table.c, coming) if guard else None,
        )
    return _mysql(table, names, guard)


def _mysql(table: Table, names: list[str], guard: Guard | None) -> Insert:
    """MySQL has no `where` here, so each column stays or changes by itself.

    It does so from left to right and sees what it has changed: a guard must hold for a row that
    has become the one that comes, column by column.
    """
    statement = mysql.insert(table)
    coming = statement.inserted
    if guard is None:
        return statement.on_duplicate_key_update({name: coming[name] for name in names})
    is_wanted = guard(table.c, coming)
    return statement.on_duplicate_key_update(
        [(name, case((is_wanted, coming[name]), else_=table.c[name])) for name in names]
    )
