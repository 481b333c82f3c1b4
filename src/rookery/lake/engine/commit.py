"""Metadata of a commit to a table's Delta log: claims, changed dates, fingerprints of days."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime

from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.transaction import AddAction

from rookery.lake.engine.parquet import AddedFile
from rookery.lake.schema.table import DATE

DATES = "dates"  # key in its metadata; commits that change no rows, such as compaction, lack it
FINGERPRINT = (
    "reach"  # another key: fingerprints of those rows of a day that concern the day before
)

_Commit = Mapping[str, object]


def properties(
    claims: Iterable[tuple[str, int | None, int]],
    dates: Iterable[date],
    metadata: Mapping[str, str],
) -> CommitProperties:
    """Of a commit with these claims, which changes rows of these dates."""
    touched = ",".join(sorted(each.isoformat() for each in dates))
    transactions = [Transaction(source, until) for source, _, until in claims]
    return CommitProperties(
        custom_metadata={**metadata, DATES: touched}, app_transactions=transactions
    )


def action(added: AddedFile, now_ms: int) -> AddAction:
    """A file, as the log names it."""
    values = {} if added.date is None else {DATE: added.date.isoformat()}
    stats = json.dumps({"numRecords": added.rows})
    return AddAction(added.path, added.size, values, now_ms, True, stats)


def dates_of(opened: DeltaTable) -> set[date]:
    """Dates that a table has rows of."""
    if DATE not in opened.metadata().partition_columns:
        return set()
    return {date.fromisoformat(each[DATE]) for each in opened.partitions()}


def commits(opened: DeltaTable, limit: int) -> list[dict[str, object]]:
    """The last commits that a table had when it was opened, the newest first.

    delta-rs also returns later ones, beyond the limit, and numbers them as if the newest of all
    were the opened version.
    """
    version = opened.version()
    found = opened.history(limit)
    later = max(len(found) - min(limit, version + 1), 0)
    return [{**each, "version": version - ago} for ago, each in enumerate(found[later:])]


def committed_at(commit: _Commit) -> datetime:
    return datetime.fromtimestamp(int(str(commit["timestamp"])) / 1000, UTC)


def touched_dates(history: Iterable[_Commit]) -> frozenset[date]:
    """Dates whose rows these commits changed."""
    dates = ",".join(str(commit.get(DATES, "")) for commit in history).split(",")
    return frozenset(date.fromisoformat(each) for each in dates if each)


def fingerprint_metadata(marks: Mapping[date, str]) -> dict[str, str]:
    """Fingerprints of dates as metadata of a commit; equal rows have equal ones."""
    return {FINGERPRINT: json.dumps({day.isoformat(): mark for day, mark in marks.items()})}


def changed_fingerprint_dates(new: Sequence[_Commit], before: Sequence[_Commit]) -> frozenset[date]:
    """Dates in new commits whose rows about the day before changed, or may have.

    Both lists have the newest first; `before` may end anywhere.
    """
    return frozenset(
        day
        for day in touched_dates(new)
        if (mark := _fingerprint(day, new)) is None or mark != _fingerprint(day, before)
    )


def _fingerprint(day: date, history: Iterable[_Commit]) -> str | None:
    """By the newest commit that changed the date; None if there is none or it has no mark."""
    for commit in history:
        if day in touched_dates([commit]):
            marks = json.loads(str(commit.get(FINGERPRINT, "{}")))
            return marks.get(day.isoformat()) if isinstance(marks, dict) else None
    return None
