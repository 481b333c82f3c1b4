"""Commit: what one to a table's Delta log says of itself, besides the files that it brings."""

import json
from collections.abc import Iterable, Mapping
from datetime import date

from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.transaction import AddAction

from rookery.lake.parquet import Added
from rookery.lake.schema.table import DATE

DATES = "dates"  # key in its metadata; commits that change no rows, as compaction's, lack it


def properties(
    claims: Iterable[tuple[str, int | None, int]],
    dates: Iterable[date],
    metadata: Mapping[str, str],
) -> CommitProperties:
    """Claims, and the dates whose rows are others now."""
    touched = ",".join(sorted(each.isoformat() for each in dates))
    transactions = [Transaction(source, until) for source, _, until in claims]
    return CommitProperties(
        custom_metadata={**metadata, DATES: touched}, app_transactions=transactions
    )


def action(added: Added, now_ms: int) -> AddAction:
    """A file, as the log names it."""
    values = {} if added.date is None else {DATE: added.date.isoformat()}
    stats = json.dumps({"numRecords": added.rows})
    return AddAction(added.path, added.size, values, now_ms, True, stats)


def dates_of(opened: DeltaTable) -> set[date]:
    """Those that a table has rows of."""
    if DATE not in opened.metadata().partition_columns:
        return set()
    return {date.fromisoformat(each[DATE]) for each in opened.partitions()}


def touched_dates(history: Iterable[Mapping[str, object]]) -> frozenset[date]:
    """Of all these commits."""
    dates = ",".join(str(commit.get(DATES, "")) for commit in history).split(",")
    return frozenset(date.fromisoformat(each) for each in dates if each)
