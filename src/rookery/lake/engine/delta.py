"""The lake's tables as Delta logs: what is in them, what is new, and the only way to commit.

A commit claims what it ingests of its sources: `CommitClaim("landing/calls", since=4, until=7)`.
The log keeps the last `until` of each source and so is the checkpoint as well: what was committed
is never ingested twice, and what was not is ingested by the next run. A claim that does not begin
where the log says it should is refused, and so is one of two that are made at the same time.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Literal, NamedTuple

import pyarrow as pa
import pyarrow.dataset
from deltalake import DeltaTable, Schema
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from pyarrow import fs

from rookery.errors import LocalError, UsageError
from rookery.lake.engine import parquet
from rookery.lake.engine.commit import (
    DATES,
    action,
    changed_fingerprint_dates,
    commits,
    dates_of,
    properties,
    touched_dates,
)
from rookery.lake.engine.parquet import AddedFile
from rookery.lake.schema.table import DATE, Table

_HISTORY_MAX = 10_000
_MARKED = 20  # commits before a version, to look for marks in
_COMPACTION = "OPTIMIZE"  # the only operation that rewrites existing rows
_TREE_DRAWING = re.compile(r"\x1b\[[0-9;]*m|↳")


class ConflictError(LocalError):
    """Another commit has claimed the same; the files of this one belong to no table."""


class CommitClaim(NamedTuple):
    """A commit ingests a source from after one version up to another."""

    source: str
    since: int | None  # None: from the beginning
    until: int


class TableChanges(NamedTuple):
    """What changed in a table since a version."""

    version: int
    files: tuple[str, ...]  # those that are new
    dates: frozenset[date] | None  # with changed rows; None: any may have some
    affecting_day_before: frozenset[date] | None = None  # those of them; None: all may

    @property
    def is_nothing(self) -> bool:
        return not self.files and self.dates is not None and not self.dates


class Lake:
    """All tables below one URL: a folder, or what delta-rs can open (s3://…, hdfs://…)."""

    def __init__(self, url: str, storage: Mapping[str, str] | None = None) -> None:
        self.url = url.removeprefix("file://").rstrip("/")
        self._storage = dict(storage or {})

    def uri(self, table: Table) -> str:
        return f"{self.url}/{table.path}"

    def version(self, table: Table) -> int | None:
        """Of its last commit; None when there is no such table yet."""
        opened = self._open(table)
        return None if opened is None else opened.version()

    def files(
        self,
        table: Table,
        dates: Collection[date] | None = None,
        version: int | None = None,
    ) -> list[str]:
        """URIs of its files, of all dates or of some."""
        opened = self._open(table, version)
        if opened is None:
            return []
        if dates is None:
            return opened.file_uris()
        if not dates:
            return []
        days = [each.isoformat() for each in sorted(dates)]
        return opened.file_uris(file_pruning_predicate=[(DATE, "in", days)])

    def rows(
        self,
        table: Table,
        version: int | None = None,
        dates: Collection[date] | None = None,
    ) -> int:
        """Number of rows, of all dates or of some, by the log alone."""
        opened = self._open(table, version)
        if opened is None:
            return 0
        if dates is None:
            return opened.count()
        actions = pa.table(opened.get_add_actions(flatten=True))
        days, counts = (actions[name].to_pylist() for name in ("partition.date", "num_records"))
        return sum(count for day, count in zip(days, counts, strict=True) if day in dates)

    def dates(self, table: Table, version: int | None = None) -> frozenset[date]:
        """Dates that it has rows of."""
        opened = self._open(table, version)
        return frozenset() if opened is None else frozenset(dates_of(opened))

    def ingested_version(self, target: Table, source: Table | str) -> int | None:
        """The version up to which a table has ingested a source; None: nothing of it."""
        opened = self._open(target)
        name = source if isinstance(source, str) else source.path
        return None if opened is None else opened.transaction_version(name)

    def changes(self, source: Table, since: int | None) -> TableChanges | None:
        """What is new after a version; None while the table does not exist."""
        opened = self._open(source)
        if opened is None:
            return None
        version = opened.version()
        if since == version:
            return TableChanges(version, (), frozenset())
        files = opened.file_uris()
        if since is None or since > version:
            return TableChanges(version, tuple(files), None)
        count = version - since
        limit = min(count + _MARKED * bool(source.concerns_day_before), _HISTORY_MAX)
        history = commits(opened, limit)
        if len(history) < count:
            return TableChanges(version, self._files_since(source, since, files), None)
        new, before = history[:count], history[count:]
        brought = self._added_files(source, since, files, new)
        return TableChanges(
            version, brought, touched_dates(new), changed_fingerprint_dates(new, before)
        )

    def append(
        self,
        table: Table,
        rows: pa.Table,
        claims: Sequence[CommitClaim],
        metadata: Mapping[str, str],
    ) -> int:
        """Write rows as one commit; returns its version."""
        try:
            added = parquet.write(self.uri(table), table, rows.cast(table.arrow))
        except (pa.ArrowException, OSError) as error:
            raise LocalError(
                f"{table.path} cannot be written: {delta_error_text(error)}"
            ) from error
        try:
            return self.commit(table, added, None, claims, metadata)
        except LocalError:
            self._remove_uncommitted(table, added)
            raise

    def commit(
        self,
        table: Table,
        added: Sequence[AddedFile],
        replaced: Collection[date] | Literal["all"] | None,
        claims: Sequence[CommitClaim],
        metadata: Mapping[str, str],
    ) -> int:
        """Add files to the table and drop what it had of the replaced dates, atomically."""
        opened = self._open_claimed(table, claims)
        now_ms = int(datetime.now(UTC).timestamp() * 1000)
        touched = {each.date for each in added if each.date is not None}
        filters = None
        if isinstance(replaced, str):
            touched |= dates_of(opened)
        elif replaced is not None:
            touched |= set(replaced)
            filters = [(DATE, "in", [each.isoformat() for each in sorted(replaced)])]
        before = opened.version()
        try:
            parquet.sync(self.uri(table), [each.path for each in added])
            opened.create_write_transaction(
                [action(each, now_ms) for each in added],
                "append" if replaced is None else "overwrite",
                Schema.from_arrow(table.arrow),
                table.partition or None,
                filters,
                commit_properties=properties(claims, touched, metadata),
            )
        except CommitFailedError as error:
            raise ConflictError(f"{table.path}: {delta_error_text(error)}") from error
        except (DeltaError, OSError) as error:
            raise LocalError(
                f"{table.path} cannot be committed: {delta_error_text(error)}"
            ) from error
        opened.update_incremental()
        self._sync_log(table, before, opened.version())
        return opened.version()

    def dataset(self, table: Table, version: int | None = None) -> pyarrow.dataset.Dataset:
        """To read without Spark; empty when there is no such table yet."""
        opened = self._open(table, version)
        if opened is None:
            return pyarrow.dataset.dataset(table.arrow.empty_table())
        return opened.to_pyarrow_dataset(schema=table.arrow, filesystem=_local(self.uri(table)))

    def delta_table(self, table: Table) -> DeltaTable:
        """The table as delta-rs has it, for maintenance; UsageError when there is none."""
        opened = self._open(table)
        if opened is None:
            raise UsageError(f"there is no {table.path} in {self.url}")
        return opened

    def _remove_uncommitted(self, table: Table, added: Iterable[AddedFile]) -> None:
        """Remove files that were not committed: after a full disk the next try needs the room."""
        with suppress(LocalError, OSError):
            committed = frozenset(self.files(table))
            uris = [f"{self.uri(table)}/{each.path}" for each in added]
            if committed.isdisjoint(uris):  # else only what follows the commit has failed
                parquet.remove(uris)

    def _sync_log(self, table: Table, before: int, version: int) -> None:
        """Sync the log: after a commit callers may forget what it ingested, power cut or not."""
        names = [f"_delta_log/{each:020}.json" for each in range(before + 1, version + 1)]
        try:
            parquet.sync(self.uri(table), names)
        except OSError as error:
            raise LocalError(f"{table.path} cannot be synced: {delta_error_text(error)}") from error

    def _open(self, table: Table, version: int | None = None) -> DeltaTable | None:
        try:
            return DeltaTable(self.uri(table), version=version, storage_options=self._storage)
        except TableNotFoundError:
            return None
        except (DeltaError, OSError) as error:
            raise LocalError(f"{table.path} cannot be read: {delta_error_text(error)}") from error

    def _files_since(self, table: Table, since: int, files: Iterable[str]) -> tuple[str, ...]:
        known = frozenset(self._files_at(table, since))
        return tuple(uri for uri in files if uri not in known)

    def _added_files(
        self,
        table: Table,
        since: int,
        files: Iterable[str],
        history: Iterable[Mapping[str, object]],
    ) -> tuple[str, ...]:
        """Files with new rows. Compaction rewrites old rows: then the files before it count."""
        if not any(commit.get("operation") == _COMPACTION for commit in history):
            return self._files_since(table, since, files)
        ours = [int(str(commit["version"])) for commit in history if DATES in commit]
        each = [
            self._files_since(table, at - 1, self.files(table, version=at)) for at in sorted(ours)
        ]
        return tuple(uri for uris in each for uri in uris)

    def _files_at(self, table: Table, version: int) -> list[str]:
        try:
            return self.files(table, version=version)
        except LocalError:
            return []  # its log is cleaned up: everything counts as new

    def _open_claimed(self, table: Table, claims: Iterable[CommitClaim]) -> DeltaTable:
        opened = self._open(table) or self._create(table)
        for claim in claims:
            found = opened.transaction_version(claim.source)
            if found != claim.since:
                raise ConflictError(
                    f"{table.path} has taken in {claim.source} up to {found}, not {claim.since}"
                )
        self._add_columns(opened, table)
        return opened

    def _create(self, table: Table) -> DeltaTable:
        schema = Schema.from_arrow(table.arrow)
        try:
            DeltaTable.create(
                self.uri(table),
                schema,
                mode="ignore",
                partition_by=table.partition or None,
                storage_options=self._storage,
            )
        except CommitFailedError:
            pass  # another process created it at the same time
        except (DeltaError, OSError) as error:
            raise LocalError(f"{table.path} cannot be made: {delta_error_text(error)}") from error
        return self.delta_table(table)

    def _add_columns(self, opened: DeltaTable, table: Table) -> None:
        known = {field.name for field in opened.schema().fields}
        missing = [each for each in Schema.from_arrow(table.arrow).fields if each.name not in known]
        if not missing:
            return
        try:
            opened.alter.add_columns(missing)
        except CommitFailedError as error:
            raise ConflictError(f"{table.path}: {delta_error_text(error)}") from error
        except (DeltaError, OSError) as error:
            raise LocalError(f"{table.path} takes no columns: {delta_error_text(error)}") from error
        opened.update_incremental()


def delta_error_text(error: Exception) -> str:
    """A failure of delta-rs as one line: its own text is a coloured tree of causes."""
    lines = (_TREE_DRAWING.sub("", line).strip() for line in str(error).splitlines())
    return ": ".join(line for line in lines if line)


def _local(uri: str) -> fs.FileSystem | None:
    """The file system of a table on the local disk; None leaves reading to delta-rs.

    delta-rs would call back into Python from threads that outlive the interpreter and abort it.
    """
    return None if "://" in uri else fs.SubTreeFileSystem(uri, fs.LocalFileSystem())
