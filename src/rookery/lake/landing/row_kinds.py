"""Row kinds: how observations of one kind become rows of their landing table.

    | observation                    | column                                              |
    | its end in the spool           | position                                            |
    | received_at, reporter          | received_at (its UTC date is `date`), reporter      |
    | `b`, `n` of the content        | boot, sequence; null where it has neither           |
    | `t` of the content             | at; null where it has none                          |
    | a field of the content         | the column of that name, but for `RENAMED_FIELDS`          |

The table's schema drives it: a column that no field fills fails when this module is imported. Keys,
and other fields without a column, are left out.
"""

from collections.abc import Sequence
from operator import attrgetter

import msgspec
import pyarrow as pa

from rookery.fleet.entry import FleetEntry
from rookery.fleet.reports.observation_contents import STRUCTS
from rookery.lake.landing import arrow_columns
from rookery.lake.schema import landing
from rookery.lake.schema.table import Table
from rookery.wire import observation
from rookery.wire.fleet.telemetry import DEVICE_FIELDS

TABLES = {
    observation.DEVICE: landing.DEVICE_REPORTS,
    observation.SERVER: landing.SERVER_REPORTS,
    observation.CALLED: landing.CALLS,
    observation.ENROLLED: landing.ENROLMENTS,
    observation.SECURITY: landing.SECURITY_EVENTS,
    observation.LINK: landing.LINK_SAMPLES,
    observation.RECORD: landing.RECORD_CHANGES,
    observation.DECISION: landing.DECISIONS,
    observation.SESSION: landing.SESSIONS,
    observation.REQUEST: landing.REQUESTS,
    observation.MESSAGE: landing.MESSAGES,
}
RENAMED_FIELDS = {
    **{(observation.DEVICE, each.public_name): each.name for each in DEVICE_FIELDS},
    (observation.SECURITY, "event"): "kind",
}
"""Field by kind and column, where the two may have different names."""

_STAMP_FIELDS = ("t", "b", "n")  # the sender's time, boot and sequence number


ParsedObservation = tuple[int, int, bytes, msgspec.Struct]
"""A decoded observation: position, received_ms, sender, content."""


class RowKind:
    """One kind: reads contents, and makes a table of many."""

    def __init__(self, kind: int) -> None:
        struct = STRUCTS[kind]
        self.table: Table = TABLES[kind]
        self.decode = msgspec.msgpack.Decoder(struct).decode
        own = self.table.columns[len(landing.HEAD) : -1]
        fields = [RENAMED_FIELDS.get((kind, column.name), column.name) for column in own]
        self._is_stamped = set(_STAMP_FIELDS) <= set(struct.__struct_fields__)
        assert set(fields) <= set(struct.__struct_fields__)
        self._fields = attrgetter(*fields, *(_STAMP_FIELDS if self._is_stamped else ()))
        self._builds = [
            arrow_columns.instants  # only an entry has times as floats
            if struct is FleetEntry and column.name == "first_seen"
            else arrow_columns.build(column.type)
            for column in own
        ]

    def rows(self, spool: str, taken: Sequence[ParsedObservation]) -> pa.Table:
        """At least one, in the order they are given."""
        count = len(taken)
        positions, received_ms, senders, contents = zip(*taken, strict=True)
        received = pa.array(received_ms, pa.int64())
        values = list(zip(*map(self._fields, contents), strict=True))
        stamps = _nothing(count)
        if self._is_stamped:
            *values, at, boots, numbers = values
            stamps = arrow_columns.stamps(at, boots, numbers)
        columns = [
            pa.repeat(pa.scalar(spool), count),
            pa.array(positions, pa.int64()),
            arrow_columns.times(received),
            pa.array([each.hex(":") for each in senders], pa.string()),
            *stamps,
            *(build(column) for build, column in zip(self._builds, values, strict=True)),
            arrow_columns.dates(received),
        ]
        return pa.table(columns, schema=self.table.arrow)


def _nothing(count: int) -> tuple[pa.Array, pa.Array, pa.Array]:
    boot, sequence, at = (landing.HEAD[index].type for index in (4, 5, 6))
    return pa.nulls(count, boot), pa.nulls(count, sequence), pa.nulls(count, at)
