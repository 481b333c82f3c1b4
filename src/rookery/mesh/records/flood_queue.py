"""Flood queue: the keys of statements that one neighbour has yet to be sent."""

from rookery.mesh.records.database import RecordDatabase
from rookery.wire.mesh.flood import BODY_SIZE, StatementKey, Statements, Summary, SummarySection
from rookery.wire.mesh.statement import RECORD

WAITING_MAX = 2048  # records, and as many other statements

_LENGTH_SIZE = 2


class FloodQueue:
    """Certificates and revocations leave before the records that need them."""

    __slots__ = ("_others", "_records", "_waiting_max", "buckets", "has_overflowed")

    def __init__(self, waiting_max: int = WAITING_MAX) -> None:
        self._waiting_max = waiting_max
        self._others: dict[StatementKey, None] = {}
        self._records: dict[StatementKey, None] = {}
        self.buckets: set[int] = set()  # of which a summary is to be sent
        self.has_overflowed = False  # something did not fit, and only a comparison brings it

    def __bool__(self) -> bool:
        return bool(self._others or self._records or self.buckets)

    def add(self, key: StatementKey) -> None:
        waiting = self._records if key.kind == RECORD else self._others
        if key not in waiting and len(waiting) >= self._waiting_max:
            self.has_overflowed = True
        else:
            waiting[key] = None

    def discard(self, key: StatementKey) -> None:
        """The neighbour has it by now."""
        (self._records if key.kind == RECORD else self._others).pop(key, None)

    def next_frame(self, database: RecordDatabase, now: float) -> tuple[bytes, bytes] | None:
        """Head and body of a full frame, or of as much as there is."""
        statements = self._statements(database)
        if statements:
            return Statements(statements).serialize()
        return self._summary(database, now)

    def _statements(self, database: RecordDatabase) -> tuple[bytes, ...]:
        statements: list[bytes] = []
        size = 0
        for waiting in (self._others, self._records):
            for key in list(waiting):
                data = database.statement(key)
                if data is not None:
                    size += _LENGTH_SIZE + len(data)
                    if statements and size > BODY_SIZE:
                        return tuple(statements)
                    statements.append(data)
                del waiting[key]
        return tuple(statements)

    def _summary(self, database: RecordDatabase, now: float) -> tuple[bytes, bytes] | None:
        sections: list[SummarySection] = []
        size = 0
        for bucket in sorted(self.buckets):
            section = database.inventory(now).section(bucket)
            size += section.size
            if sections and size > BODY_SIZE:
                break
            sections.append(section)
            self.buckets.discard(bucket)
        return Summary(tuple(sections)).serialize() if sections else None
