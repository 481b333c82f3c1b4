"""P3: what cannot be understood goes to quarantine with the reason, and the rest goes on."""

from datetime import UTC, date, datetime

import msgspec
import pytest

from rookery.lake.landing.batch import LandingBatch
from rookery.lake.schema import landing, quarantine
from rookery.wire import observation as observations
from rookery.wire.observation import CONTENT_SIZE_MAX, HEAD
from tests.lake import spools

TODAY = date(2026, 11, 16)


def filled(*records: bytes) -> LandingBatch:
    batch = LandingBatch("hub", TODAY)
    batch.fill(enumerate(records, start=1), 1_000_000, 1 << 30)
    return batch


def refusal(record: bytes) -> dict[str, object]:
    """The only thing that becomes of it."""
    ((table, rows),) = filled(record).tables()
    assert table is quarantine.OBSERVATIONS
    assert rows.schema.equals(table.arrow)
    (row,) = rows.to_pylist()
    assert isinstance(row, dict)
    return row


def test_each_kind_comes_into_its_own_table_in_order() -> None:
    records = [spools.record(kind) for kind in sorted(spools.STRUCTS)]
    batch = filled(*records, *records)
    tables = dict(batch.tables())
    assert list(tables) == list(landing.TABLES)
    for index, rows in enumerate(tables.values(), start=1):
        assert rows["position"].to_pylist() == [index, index + len(records)]
    assert (batch.rows, batch.quarantined, batch.until) == (22, 0, 22)


@pytest.mark.parametrize(
    ("kind", "content", "reason"),
    [
        (observations.DEVICE, b"", "truncated"),
        (observations.DEVICE, b"\xc1", "malformed"),
        (observations.DEVICE, b"\x81\xa1x" + b"\x91" * 3000, "recursion"),
        (observations.DEVICE, b"\x80", "missing required field `t`"),
        (observations.CALLED, spools.record(observations.LINK)[HEAD.size :], "required field"),
        (observations.LINK, b"\x81\xa4node\xa1\xff", "utf-8"),
        (observations.ENROLLED, b"\x93\x01\x02\x03", "Expected"),
    ],
)
def test_a_content_that_is_none_of_its_kind_is_kept_as_it_came(
    kind: int, content: bytes, reason: str
) -> None:
    row = refusal(spools.record(kind, content))
    assert reason in str(row["reason"])
    assert row["content"] == content
    assert row["reporter"] == "02:fc:00:00:00:01"
    assert row["received_at"] is not None
    assert row["date"] == date(2026, 11, 4)
    assert row["source"] == "spool hub"


def test_values_of_another_type_and_beyond_their_bounds_are_refused() -> None:
    good = msgspec.to_builtins(spools.STRUCTS[observations.LINK])
    for change in ({"rtt_ms": "fast"}, {"loss_in": 1.5}, {"rtt_ms": float("nan")}, {"t": -1}):
        content = msgspec.msgpack.encode(good | change)
        row = refusal(spools.record(observations.LINK, content))
        assert f"$.{next(iter(change))}" in str(row["reason"])
        assert row["kind"] == "link_samples"


def test_a_kind_of_a_newer_version_is_kept_under_its_number() -> None:
    row = refusal(spools.record(99, b"whatever"))
    assert (row["kind"], row["reason"], row["content"]) == ("99", "unknown kind", b"whatever")


def test_fields_of_a_newer_version_are_passed_over() -> None:
    known = msgspec.to_builtins(spools.STRUCTS[observations.LINK])
    content = msgspec.msgpack.encode(known | {"colour": "red"})
    batch = filled(spools.record(observations.LINK, content))
    assert [table for table, _ in batch.tables()] == [landing.LINK_SAMPLES]


def test_what_cannot_be_an_observation_is_kept_whole_under_the_date_of_the_run() -> None:
    row = refusal(b"short")
    assert (row["kind"], row["reporter"], row["received_at"]) == (None, None, None)
    assert (row["content"], row["date"]) == (b"short", TODAY)
    long = spools.record(observations.LINK, bytes(CONTENT_SIZE_MAX + 1))
    assert "cannot be an observation" in str(refusal(long)["reason"])


def test_a_reception_that_no_calendar_knows_is_refused() -> None:
    row = refusal(spools.record(observations.LINK, received_ms=(1 << 64) - 1))
    assert (row["received_at"], row["date"]) == (None, TODAY)
    last = refusal(spools.record(observations.LINK, b"", received_ms=253_402_300_799_999))
    assert last["received_at"] == datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)


def test_bad_ones_cost_the_good_ones_beside_them_nothing() -> None:
    batch = filled(
        spools.called(1), b"bad", spools.called(2), spools.record(99, b"?"), spools.called(3)
    )
    tables = dict(batch.tables())
    assert tables[landing.CALLS]["sequence"].to_pylist() == [1, 2, 3]
    assert tables[quarantine.OBSERVATIONS]["position"].to_pylist() == [2, 4]
    assert batch.quarantined == 2


def test_more_than_a_chunk_is_one_table_in_order() -> None:
    batch = filled(*(spools.called(number) for number in range(1, 2501)))
    ((_, rows),) = batch.tables()
    assert rows["sequence"].to_pylist() == list(range(1, 2501))


def test_a_batch_ends_with_its_rows_or_bytes_and_takes_no_more() -> None:
    records = iter(enumerate([spools.called(number) for number in range(10)], start=1))
    batch = LandingBatch("hub", TODAY)
    batch.fill(records, 4, 1 << 30)
    assert (batch.rows, batch.until) == (4, 4)
    batch = LandingBatch("hub", TODAY)
    batch.fill(records, 100, 1)
    assert (batch.rows, batch.until) == (1, 5)
    assert next(records)[0] == 6
