"""Landing batch: records of a spool as rows of landing tables; undecodable ones of quarantine.

Contents become Arrow a few thousand at a time, so that a batch takes little more memory than its
rows do as Arrow.
"""

from collections.abc import Iterable, Iterator
from datetime import date

import msgspec
import pyarrow as pa

from rookery.lake.landing import arrow_columns
from rookery.lake.landing.arrow_columns import MS_MAX
from rookery.lake.landing.row_kinds import TABLES, ParsedObservation, RowKind
from rookery.lake.schema import quarantine
from rookery.lake.schema.table import Table
from rookery.wire.observation import CONTENT_SIZE_MAX, HEAD

_CHUNK = 1024  # contents of a kind: few enough to stay in the processor's cache
_SIZE_MAX = HEAD.size + CONTENT_SIZE_MAX
_REASON_SIZE_MAX = 300
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class LandingBatch:
    """`fill` it with records in their order, then have them as rows."""

    def __init__(self, spool: str, today: date) -> None:
        self._spool = spool
        self._today = today  # the date of records without a time
        self._kinds: dict[int, _KindRows] = {kind: _KindRows(kind, spool) for kind in TABLES}
        self._quarantined: list[tuple[object, ...]] = []
        self.rows = 0  # good and bad ones
        self.size = 0  # of the records
        self.until = 0  # position of the last record

    @property
    def quarantined(self) -> int:
        return len(self._quarantined)

    def fill(self, records: Iterable[tuple[int, bytes]], rows_max: int, bytes_max: int) -> None:
        """Add records, valid or not, until there are no more or the batch is full."""
        kinds, unpack, skip = self._kinds, HEAD.unpack_from, HEAD.size
        for position, record in records:
            self.rows += 1
            self.size += len(record)
            self.until = position
            if not skip <= len(record) <= _SIZE_MAX:
                self._quarantine(position, record, f"{len(record)} bytes cannot be an observation")
                continue
            received_ms, number, sender, _, _ = unpack(record)
            kind = kinds.get(number)
            if kind is None:
                self._quarantine(position, record, "unknown kind")
            elif received_ms > MS_MAX:
                self._quarantine(position, record, "received after year 9999")
            else:
                try:
                    content = kind.decode(record[skip:])
                except _UNREADABLE as error:
                    self._quarantine(position, record, str(error))
                else:
                    kind.taken.append((position, received_ms, sender, content))
                    if len(kind.taken) == _CHUNK:
                        kind.settle()
            if self.rows >= rows_max or self.size >= bytes_max:
                return

    def tables(self) -> Iterator[tuple[Table, pa.Table]]:
        """Tables with rows in this batch; quarantine last."""
        for kind in self._kinds.values():
            rows = kind.rows()
            if rows is not None:
                yield kind.table, rows
        if self._quarantined:
            table = quarantine.OBSERVATIONS
            columns = zip(*self._quarantined, strict=True)
            arrays = [
                pa.array(values, column.type)
                for values, column in zip(columns, table.columns, strict=True)
            ]
            yield table, pa.table(arrays, schema=table.arrow)

    def _quarantine(self, position: int, record: bytes, reason: str) -> None:
        received_ms = kind = sender_id = None
        content = record
        if len(record) >= HEAD.size:
            received_ms, number, sender, _, _ = HEAD.unpack_from(record)
            known = self._kinds.get(number)
            kind = str(number) if known is None else known.table.name
            sender_id = sender.hex(":")
            content = record[HEAD.size :]
        at = None
        if received_ms is not None and received_ms <= MS_MAX:
            at = arrow_columns.instant(received_ms)
        self._quarantined.append(
            (
                self._spool,
                position,
                at,
                kind,
                sender_id,
                reason[:_REASON_SIZE_MAX],
                content,
                f"spool {self._spool}",
                self._today if at is None else at.date(),
            )
        )


class _KindRows:
    """Rows of one kind so far."""

    def __init__(self, number: int, spool: str) -> None:
        self._row = RowKind(number)
        self._spool = spool
        self._chunks: list[pa.Table] = []
        self.taken: list[ParsedObservation] = []
        self.table = self._row.table
        self.decode = self._row.decode

    def rows(self) -> pa.Table | None:
        self.settle()
        return pa.concat_tables(self._chunks) if self._chunks else None

    def settle(self) -> None:
        """Turn what was collected into Arrow."""
        if self.taken:
            self._chunks.append(self._row.rows(self._spool, self.taken))
            self.taken = []
