"""Flood frames: what neighbours tell each other about statements."""

from functools import reduce
from operator import xor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.link.frame_types import DIGEST, STATEMENTS, SUMMARY, WANT
from rookery.wire.mesh.flood import (
    BODY_SIZE,
    BUCKETS,
    SECTION_ENTRIES_MAX,
    STATEMENTS_SIZE_MAX,
    SUMMARY_SIZE_MAX,
    WANTED_MAX,
    BucketDigests,
    RootDigest,
    StatementKey,
    Statements,
    Summary,
    SummaryEntry,
    SummarySection,
    Want,
    key_of,
    parse_digest,
    statement_key,
)
from rookery.wire.mesh.statement import CERTIFICATE, KINDS, RECORD, STATEMENT_SIZE_MAX

kinds = st.sampled_from(sorted(KINDS))
eight_bytes = st.binary(min_size=8, max_size=8)
u64 = st.integers(0, 2**64 - 1)
entries = st.builds(SummaryEntry, kinds, eight_bytes, u64)


def summary(have: list[SummaryEntry]) -> Summary:
    buckets: dict[int, list[SummaryEntry]] = {}
    for entry in sorted(have):
        buckets.setdefault(StatementKey(entry.kind, entry.key).bucket, []).append(entry)
    return Summary(tuple(SummarySection(at, tuple(buckets[at])) for at in sorted(buckets)))


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=10))
def test_statements_are_read_back(statements: list[bytes]) -> None:
    frame = Statements(tuple(statements))
    assert Statements.parse(*frame.serialize()) == frame


def test_the_largest_statement_fits_a_frame_of_its_own() -> None:
    frame = Statements((bytes(STATEMENT_SIZE_MAX),))
    head, body = frame.serialize()
    assert len(body) == STATEMENTS_SIZE_MAX
    assert Statements.parse(head, body) == frame


@given(u64)
def test_a_root_digest_is_read_back(digest: int) -> None:
    assert parse_digest(*RootDigest(digest).serialize()) == RootDigest(digest)


@pytest.mark.slow
@given(st.lists(u64, min_size=BUCKETS, max_size=BUCKETS))
def test_half_of_each_bucket_digest_is_sent(digests: list[int]) -> None:
    head, body = BucketDigests(tuple(digests)).serialize()
    assert len(body) <= BODY_SIZE
    told = parse_digest(head, body)
    assert told == BucketDigests(tuple(BucketDigests.told(digest) for digest in digests))


@given(st.lists(entries, max_size=40, unique_by=lambda entry: entry[:2]))
def test_a_summary_is_read_back(have: list[SummaryEntry]) -> None:
    frame = summary(have)
    head, body = frame.serialize()
    assert Summary.parse(head, body) == frame
    assert len(body) == sum(section.size for section in frame.sections)


@given(st.lists(st.builds(StatementKey, kinds, eight_bytes), max_size=WANTED_MAX))
def test_a_want_is_read_back(keys: list[StatementKey]) -> None:
    frame = Want(tuple(keys))
    assert Want.parse(*frame.serialize()) == frame


@given(st.binary(max_size=60) | st.binary(min_size=1024, max_size=1024))
def test_arbitrary_bodies_are_frames_or_decode_errors(body: bytes) -> None:
    for frame_type, parse in (
        (STATEMENTS, Statements.parse),
        (DIGEST, parse_digest),
        (SUMMARY, Summary.parse),
        (WANT, Want.parse),
    ):
        head = bytes((frame_type,))
        try:
            frame = parse(head, body)
        except DecodeError:
            continue
        assert frame.serialize() == (head, body)


@pytest.mark.parametrize("head", [b"", b"\x04\x00", b"\x08"])
def test_a_wrong_head_is_refused(head: bytes) -> None:
    for parse in (Statements.parse, parse_digest, Summary.parse, Want.parse):
        with pytest.raises(DecodeError, match="wrong head"):
            parse(head, b"")


ENTRY = SummaryEntry(RECORD, bytes(8), 1)
BUCKET = StatementKey(RECORD, bytes(8)).bucket


def section(bucket: int, *have: SummaryEntry) -> bytes:
    return Summary((SummarySection(bucket, have),)).serialize()[1]


@pytest.mark.parametrize(
    ("fault", "body"),
    [
        ("cut short", section(BUCKET, ENTRY)[:-1]),
        ("cut short", section(BUCKET, ENTRY) + b"\x00"),
        ("out of order", section(BUCKET, ENTRY, ENTRY)),
        ("out of order", section(BUCKET, ENTRY) * 2),
        ("unknown kind", section(BUCKET, SummaryEntry(9, bytes(8), 1))),
        ("wrong bucket", section(BUCKET ^ 1, ENTRY)),
        ("too large", bytes(SUMMARY_SIZE_MAX + 1)),
    ],
)
def test_a_summary_that_makes_no_sense_is_refused(fault: str, body: bytes) -> None:
    with pytest.raises(DecodeError, match=fault):
        Summary.parse(bytes((SUMMARY,)), body)


@pytest.mark.parametrize(
    ("fault", "body"),
    [
        ("cut short", b"\x00"),
        ("cut short", b"\x00\x00"),
        ("cut short", b"\x00\x02a"),
        ("too large", b"\x00\x01a" * 2000),
    ],
)
def test_statements_that_make_no_sense_are_refused(fault: str, body: bytes) -> None:
    with pytest.raises(DecodeError, match=fault):
        Statements.parse(bytes((STATEMENTS,)), body)


@pytest.mark.parametrize(
    ("fault", "body"),
    [
        ("wrong size", bytes(10)),
        ("wrong size", b"\x02" + bytes(9 * WANTED_MAX + 8)),
        ("unknown kind", bytes(9)),
    ],
)
def test_a_want_that_makes_no_sense_is_refused(fault: str, body: bytes) -> None:
    with pytest.raises(DecodeError, match=fault):
        Want.parse(bytes((WANT,)), body)


@pytest.mark.parametrize("size", [0, 7, 9, 1023, 1025])
def test_a_digest_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(DecodeError, match="wrong size"):
        parse_digest(bytes((DIGEST,)), bytes(size))


@given(st.lists(entries, unique=True))
def test_a_digest_does_not_depend_on_the_order(have: list[SummaryEntry]) -> None:
    forwards = reduce(xor, (entry.digest for entry in have), 0)
    backwards = reduce(xor, (entry.digest for entry in reversed(have)), 0)
    assert forwards == backwards


@given(kinds, eight_bytes)
def test_records_come_in_the_later_buckets(kind: int, key: bytes) -> None:
    """So that a neighbour learns of a certificate before the records it vouches for."""
    assert (StatementKey(kind, key).bucket >= BUCKETS // 2) is (kind == RECORD)


def test_other_statements_go_by_what_they_say() -> None:
    assert statement_key(b"one") != statement_key(b"two")
    assert len(StatementKey(CERTIFICATE, statement_key(b"one")).key) == 8


def test_the_key_of_a_statement_is_read_without_parsing_it() -> None:
    origin = b"origin-0"
    record = b"\x01\x02" + bytes(8) + origin + bytes(100)
    assert key_of(record) == StatementKey(RECORD, origin)
    certificate = b"\x01\x01" + bytes(100)
    assert key_of(certificate) == StatementKey(CERTIFICATE, statement_key(certificate))
    with pytest.raises(DecodeError, match="wrong size"):
        key_of(record[:17])


def test_a_crowded_bucket_still_fits_a_frame() -> None:
    assert SummarySection(0, (ENTRY,) * SECTION_ENTRIES_MAX).size <= SUMMARY_SIZE_MAX
