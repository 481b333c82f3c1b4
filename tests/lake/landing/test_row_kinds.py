"""P2, P3: what observations become in their landing tables, and what has to stay behind."""

from datetime import UTC, date, datetime, timedelta

import msgspec
import pyarrow as pa
import pytest

from rookery.fleet.reports.observation_contents import STRUCTS
from rookery.lake.landing.row_kinds import RENAMED_FIELDS, TABLES, RowKind
from rookery.lake.schema import landing
from rookery.wire import observation as observations
from tests.lake import spools

LEFT_BEHIND = {
    observations.DEVICE: {"stream"},
    observations.SERVER: {"key2a", "stream"},
    observations.ENROLLED: {
        *("sender", "key", "digest", "generation", "boot", "sequence", "window", "last_seen"),
        *("content", "strikes", "version", "previous", "struck_at"),
    },
    observations.SECURITY: {"sender"},
}
"""Fields without a column: keys, what only the hub needs, and the sender, which the head has."""

RECEIVED = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=spools.RECEIVED_MS)
SENT = RECEIVED - timedelta(seconds=5)


def land(kind: int, *contents: msgspec.Struct) -> pa.Table:
    taken = [
        (100 + index, spools.RECEIVED_MS, spools.SENDER, content)
        for index, content in enumerate(contents)
    ]
    return RowKind(kind).rows("hub", taken)


def one(kind: int) -> dict[str, object]:
    row: dict[str, object] = land(kind, spools.STRUCTS[kind]).to_pylist()[0]
    return row


def test_every_kind_and_every_field_has_its_place() -> None:
    """The wire and the lake say the same: a field without a column is left out on purpose."""
    assert set(TABLES) == set(STRUCTS)
    assert set(TABLES.values()) == set(landing.TABLES)
    for kind, table in TABLES.items():
        own = {column.name for column in table.columns[len(landing.HEAD) : -1]}
        fields = {RENAMED_FIELDS.get((kind, name), name) for name in own}
        said = set(STRUCTS[kind].__struct_fields__) - {"t", "b", "n"}
        assert said - fields == LEFT_BEHIND.get(kind, set())
        assert fields <= said


@pytest.mark.parametrize("kind", sorted(TABLES))
def test_the_head_has_sender_time_and_place(kind: int) -> None:
    row = one(kind)
    assert (row["spool"], row["position"]) == ("hub", 100)
    assert row["reporter"] == "02:fc:00:00:00:01"
    assert row["received_at"] == RECEIVED
    assert row["date"] == date(2026, 11, 4)
    is_stamped = kind not in (observations.ENROLLED, observations.SECURITY)
    assert (row["boot"], row["sequence"]) == ((7, 8) if is_stamped else (None, None))
    assert row["at"] == (SENT if is_stamped else None)


@pytest.mark.parametrize("kind", sorted(TABLES))
def test_a_table_is_what_its_schema_says(kind: int) -> None:
    rows = land(kind, spools.STRUCTS[kind], spools.STRUCTS[kind])
    rows.validate(full=True)
    assert rows.schema.equals(TABLES[kind].arrow)
    assert rows["position"].to_pylist() == [100, 101]


def test_interfaces_and_links_of_a_device_are_lists() -> None:
    row = one(observations.DEVICE)
    assert (row["up_s"], row["temp"], row["dropped"]) == (1.5, -3.5, 9)
    names = ("received_bytes", "sent_bytes", "received_packets", "sent_packets", "errors", "drops")
    assert row["interfaces"] == [
        {"name": "eth0", **dict(zip(names, range(1, 7), strict=True))},
        {"name": "wlan0", **dict.fromkeys(names, 0), "received_bytes": (1 << 63) - 1},
    ]
    assert row["links"] == [
        {"peer": "peer", "path": "udp4", "rtt_ms": 12.5, "loss": 0.01, "rate_kbps": 900.0}
    ]


def test_lists_of_several_rows_are_not_mixed_up() -> None:
    full = spools.STRUCTS[observations.DEVICE]
    bare = msgspec.structs.replace(full, ifs={}, links=())
    rows = land(observations.DEVICE, bare, full, bare, full)
    assert [len(each) for each in rows["interfaces"].to_pylist()] == [0, 2, 0, 2]
    assert [len(each) for each in rows["links"].to_pylist()] == [0, 1, 0, 1]
    assert land(observations.DEVICE, bare)["interfaces"].to_pylist() == [[]]


def test_what_is_not_known_is_null() -> None:
    row = one(observations.LINK)
    assert (row["rtt_ms"], row["jitter_ms"], row["cost_us"]) == (1.5, None, 1500)
    assert one(observations.DECISION)["cost_us"] is None


def test_records_and_routes_keep_their_order() -> None:
    assert one(observations.RECORD)["links"] == [
        {"peer": "b", "cost_us": 10},
        {"peer": "c", "cost_us": 20},
    ]
    row = one(observations.DECISION)
    assert (row["nodes"], row["previous"]) == (["a", "b", "c"], [])


def test_an_enrolment_has_its_first_time_and_no_key() -> None:
    row = one(observations.ENROLLED)
    assert row["first_seen"] == SENT
    assert row["kind"] == "router"
    assert not any(isinstance(value, bytes) for value in row.values())
    for seconds, said in ((float("nan"), None), (-1.0, datetime(1970, 1, 1, tzinfo=UTC))):
        wrong = msgspec.structs.replace(spools.ENTRY, first_seen=seconds)
        assert land(observations.ENROLLED, wrong)["first_seen"].to_pylist() == [said]


def test_a_time_after_year_9999_becomes_the_last_valid_one() -> None:
    row = one(observations.REQUEST)
    assert row["submitted_at"] == SENT - timedelta(milliseconds=10)
    assert row["ended_at"] == datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)


def test_a_report_without_boot_and_sequence_has_nulls() -> None:
    said = msgspec.structs.replace(spools.STRUCTS[observations.LINK], b=0, n=0)
    row = land(observations.LINK, said).to_pylist()[0]
    assert (row["boot"], row["sequence"]) == (None, None)
    assert row["at"] == SENT


def test_security_events_in_spools_keep_the_names_of_their_fields() -> None:
    """Spools of earlier versions are landed, too."""
    event = {"kind": "forged", "reporter": spools.SENDER, "address": "192.0.2.1:7420"}
    content = RowKind(observations.SECURITY).decode(msgspec.msgpack.encode(event))
    (row,) = land(observations.SECURITY, content).to_pylist()
    assert (row["event"], row["address"]) == ("forged", "192.0.2.1:7420")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(content)) == {**event, "detail": ""}
