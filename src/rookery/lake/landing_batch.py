"""Landing batch: records of a spool on their way to landing tables; bad ones to quarantine.

Contents become Arrow a few thousand at a time, so that a batch takes little more memory than its
rows do as Arrow.
"""

from collections.abc import Iterator
from datetime import date

import msgspec
import pyarrow as pa

from rookery.lake import landing_columns
from rookery.lake.landing_columns import MS_MAX
from rookery.lake.landing_rows import TABLES, RowKind, Taken
from rookery.lake.schema import quarantine
from rookery.lake.schema.table import Table
from rookery.wire.observation import CONTENT_SIZE_MAX, HEAD

_CHUNK = 4096  # contents of a kind
_SIZE_MAX = HEAD.size + CONTENT_SIZE_MAX
_REASON_SIZE_MAX = 300
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class LandingBatch:
    """`take` records in their order, then have them as rows."""

    def __init__(self, spool: str, today: date) -> None:
        self._spool = spool
        self._today = today  # of what has no time
        self._kinds: dict[int, _Kind] = {kind: _Kind(kind, spool) for kind in TABLES}
        self._refused: list[tuple[object, ...]] = []
        self.rows = 0  # good and bad ones
        self.size = 0  # of the records
        self.until = 0  # position of the last record

    @property
    def refused(self) -> int:
        return len(self._refused)

    def take(self, position: int, record: bytes) -> None:
        """One record, whatever is in it."""
        self.rows += 1
        self.size += len(record)
        self.until = position
        if not HEAD.size <= len(record) <= _SIZE_MAX:
            self._refuse(position, record, f"{len(record)} bytes cannot be an observation")
            return
        received_ms, number, reporter, _, _ = HEAD.unpack_from(record)
        kind = self._kinds.get(number)
        if kind is None:
            self._refuse(position, record, "unknown kind")
        elif received_ms > MS_MAX:
            self._refuse(position, record, "received after year 9999")
        else:
            try:
                content = kind.decode(record[HEAD.size :])
            except _UNREADABLE as error:
                self._refuse(position, record, str(error))
                return
            kind.take(Taken(position, received_ms, reporter, content))

    def tables(self) -> Iterator[tuple[Table, pa.Table]]:
        """Those that got rows; quarantine last."""
        for kind in self._kinds.values():
            rows = kind.rows()
            if rows is not None:
                yield kind.table, rows
        if self._refused:
            table = quarantine.OBSERVATIONS
            columns = zip(*self._refused, strict=True)
            arrays = [
                pa.array(values, column.type)
                for values, column in zip(columns, table.columns, strict=True)
            ]
            yield table, pa.table(arrays, schema=table.arrow)

    def _refuse(self, position: int, record: bytes, reason: str) -> None:
        received_ms = kind = reporter = None
        content = record
        if len(record) >= HEAD.size:
            received_ms, number, sender, _, _ = HEAD.unpack_from(record)
            known = self._kinds.get(number)
            kind = str(number) if known is None else known.table.name
            reporter = sender.hex(":")
            content = record[HEAD.size :]
        at = None
        if received_ms is not None and received_ms <= MS_MAX:
            at = landing_columns.instant(received_ms)
        self._refused.append(
            (
                self._spool,
                position,
                at,
                kind,
                reporter,
                reason[:_REASON_SIZE_MAX],
                content,
                f"spool {self._spool}",
                self._today if at is None else at.date(),
            )
        )


class _Kind:
    """Rows of one kind so far."""

    def __init__(self, number: int, spool: str) -> None:
        self._row = RowKind(number)
        self._spool = spool
        self._taken: list[Taken] = []
        self._chunks: list[pa.Table] = []
        self.table = self._row.table
        self.decode = self._row.decode

    def take(self, taken: Taken) -> None:
        self._taken.append(taken)
        if len(self._taken) == _CHUNK:
            self._chunk()

    def rows(self) -> pa.Table | None:
        if self._taken:
            self._chunk()
        return pa.concat_tables(self._chunks) if self._chunks else None

    def _chunk(self) -> None:
        self._chunks.append(self._row.rows(self._spool, self._taken))
        self._taken = []
