"""Writes a synthetic dataset into spools, as hubs and nodes would have done."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pyarrow as pa

from rookery.fleet.entry import FleetEntry
from rookery.fleet.reports.observation_contents import STRUCTS
from rookery.fleet.reports.security_events import SecurityEvent
from rookery.lake.landing.row_kinds import RENAMED_FIELDS, TABLES
from rookery.lake.schema import landing
from rookery.lake.synthetic.dataset import SyntheticDataset
from rookery.store.spool.name import SPOOL
from rookery.store.spool.spool import Spool
from rookery.wire import observation, observation_content
from rookery.wire.fleet import telemetry
from rookery.wire.observation import Observation

_GROUP = 1000  # records that are appended at once
_KINDS = {table.path: kind for kind, table in TABLES.items()}
_ENCODER = msgspec.msgpack.Encoder()


async def write_spools(dataset: SyntheticDataset, folder: Path) -> dict[str, int]:
    """One data folder for each spool, with its name; how many records went into it."""
    records: dict[str, list[tuple[int, bytes]]] = defaultdict(list)
    for table, rows in dataset.chunks():
        for row in _in_milliseconds(rows).to_pylist():
            records[row["spool"]].append((row["received_at"], record(_KINDS[table.path], row)))
    for name, mine in records.items():
        data = folder / name
        data.mkdir(parents=True)
        (data / "spool.name").write_text(name)
        spool = await Spool.open(data / SPOOL)
        in_order = [each for _, each in sorted(mine, key=lambda each: each[0])]
        for first in range(0, len(in_order), _GROUP):
            await spool.durable(spool.append(in_order[first : first + _GROUP]))
        await spool.close()
    return {name: len(mine) for name, mine in records.items()}


def record(kind: int, row: Mapping[str, object]) -> bytes:
    """A landing row, times as milliseconds, as the observation it was made of."""
    received_ms, boot, sequence = row["received_at"], row["boot"] or 0, row["sequence"] or 0
    assert isinstance(received_ms, int)
    assert isinstance(boot, int)
    assert isinstance(sequence, int)
    sender = bytes.fromhex(str(row["reporter"]).replace(":", ""))
    content = _ENCODER.encode(_content(kind, row, sender))
    return Observation(received_ms, kind, sender, boot, sequence, content).serialize()


def _content(kind: int, row: Mapping[str, object], sender: bytes) -> msgspec.Struct:
    names = {column.name: column.name for column in TABLES[kind].columns[len(landing.HEAD) : -1]}
    names |= {column: field for (of, column), field in RENAMED_FIELDS.items() if of == kind}
    values = {field: _value(kind, column, row[column]) for column, field in names.items()}
    if row["boot"] is not None:
        values |= {"t": row["at"], "b": row["boot"], "n": row["sequence"]}
    match kind:
        case observation.ENROLLED:
            return _entry(values, sender)
        case observation.SECURITY:
            return SecurityEvent(**{**values, "sender": sender})  # type: ignore[arg-type]
        case observation.SERVER:
            values["key2a"] = b""
    return STRUCTS[kind](**values)


def _value(kind: int, column: str, value: object) -> object:
    """Lists of structs as the wire has them."""
    match kind, column, value:
        case observation.DEVICE, "interfaces", list(interfaces):
            return {
                each["name"]: telemetry.InterfaceCounters(*list(each.values())[1:])
                for each in interfaces
            }
        case observation.DEVICE, "links", list(links):
            return tuple(telemetry.LinkTelemetry(**each) for each in links)
        case observation.RECORD, "links", list(links):
            return tuple(observation_content.ObservedRecordLink(**each) for each in links)
        case _, _, list(values):
            return tuple(values)
    return value


def _entry(values: Mapping[str, object], sender: bytes) -> FleetEntry:
    first_seen = values["first_seen"]
    assert isinstance(first_seen, int)
    return FleetEntry(
        sender=sender,
        kind="router" if values["kind"] == "router" else "server",
        hashname=str(values["hashname"]),
        key=b"",
        digest=b"",
        generation=0,
        boot=0,
        sequence=0,
        window=0,
        first_seen=first_seen / 1000.0,
        last_seen=first_seen / 1000.0,
        address=str(values["address"]),
    )


def _in_milliseconds(rows: pa.Table) -> pa.Table:
    """Timestamps as the wire has them."""
    schema = pa.schema(
        [
            pa.field(field.name, pa.timestamp("ms", "UTC"))
            if pa.types.is_timestamp(field.type)
            else field
            for field in rows.schema
        ]
    )
    in_ms = rows.cast(schema)
    for index, field in enumerate(schema):
        if pa.types.is_timestamp(field.type):
            in_ms = in_ms.set_column(index, field.name, in_ms[field.name].cast(pa.int64()))
    return in_ms
