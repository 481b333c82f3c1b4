"""Records on the wire: one form each, and none that says nonsense."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError, UsageError
from rookery.wire.link.path import NetPath
from rookery.wire.mesh.record import (
    COST_MAX,
    LINKS_MAX,
    PATHS_MAX,
    SERVICE_SIZE_MAX,
    SERVICES_MAX,
    Record,
    RecordLink,
    rate_code,
    version_of,
)

ORIGIN = b"origin-0"

u8, u16, u32 = (st.integers(0, (1 << bits) - 1) for bits in (8, 16, 32))
nodes = st.binary(min_size=8, max_size=8)
record_links = st.builds(RecordLink, nodes, u16, st.integers(1, COST_MAX), u8, u8)
ports = st.integers(1, 0xFFFF)
net_paths = st.one_of(
    st.builds(
        NetPath, st.sampled_from(["udp4", "tcp4", "tls4"]), st.ip_addresses(v=4).map(str), ports
    ),
    st.builds(
        NetPath, st.sampled_from(["udp6", "tcp6", "tls6"]), st.ip_addresses(v=6).map(str), ports
    ),
)
services = st.text(
    st.characters(categories=["L", "N", "P"]), min_size=1, max_size=SERVICE_SIZE_MAX // 4
)


@st.composite
def records(draw: st.DrawFn) -> Record:
    origin = draw(nodes)
    links = draw(st.lists(record_links, max_size=LINKS_MAX, unique_by=lambda link: link.peer))
    return Record(
        origin,
        draw(u32),
        draw(u32),
        draw(st.integers(0, 2**64 - 1)),
        draw(st.integers(1, 0xFFFF)),
        draw(u16),
        draw(u16),
        tuple(sorted((link for link in links if link.peer != origin), key=lambda link: link.peer)),
        tuple(draw(st.lists(net_paths, max_size=PATHS_MAX, unique=True))),
        tuple(draw(st.lists(services, max_size=SERVICES_MAX, unique=True))),
    )


def record(
    *links: RecordLink,
    paths: tuple[NetPath, ...] = (),
    offers: tuple[str, ...] = (),
    lifetime_s: int = 60,
) -> Record:
    return Record(ORIGIN, 1, 2, 3, lifetime_s, 4, 0, links, paths, offers)


@given(records())
def test_what_is_written_is_read_back(original: Record) -> None:
    content = original.serialize()
    assert Record.parse(content) == original
    assert version_of(content) == (original.origin, original.version)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_a_record_or_a_decode_error(data: bytes) -> None:
    try:
        parsed = Record.parse(data)
    except DecodeError:
        return
    assert parsed.serialize() == data


@given(records(), st.data())
def test_a_record_with_a_changed_byte_is_another_record_or_none(
    original: Record, data: st.DataObject
) -> None:
    content = bytearray(original.serialize())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 0xFF))
    try:
        changed = Record.parse(bytes(content))
    except DecodeError:
        return
    assert changed != original
    assert changed.serialize() == content


@given(records(), st.integers(0, 2000))
def test_a_record_cut_short_is_none(original: Record, size: int) -> None:
    content = original.serialize()
    with pytest.raises(DecodeError):
        Record.parse(content[: size % len(content)])


def test_bytes_after_a_record_are_refused() -> None:
    with pytest.raises(DecodeError, match="too long"):
        Record.parse(record().serialize() + b"\0")


def test_the_version_of_less_than_a_head_is_none() -> None:
    with pytest.raises(DecodeError, match="cut short"):
        version_of(record().serialize()[:-1])


def test_versions_are_ordered_by_epoch_first() -> None:
    """R1: a node that starts again counts its records from the beginning, in a later epoch."""
    former = Record(ORIGIN, epoch=1, sequence=900, made_s=2, lifetime_s=1)
    later = Record(ORIGIN, epoch=2, sequence=0, made_s=1, lifetime_s=1)
    assert later.version > former.version


FAULTS = [
    ("lists too much", record(*(RecordLink(bytes([n]) * 8, 0, 1) for n in range(49)))),
    (
        "lists too much",
        record(paths=tuple(NetPath("tcp4", "192.0.2.1", port) for port in range(1, 10))),
    ),
    ("lists too much", record(offers=tuple("abcdefghi"))),
    ("out of order", record(RecordLink(b"b" * 8, 0, 1), RecordLink(b"a" * 8, 0, 1))),
    ("out of order", record(RecordLink(b"b" * 8, 0, 1), RecordLink(b"b" * 8, 1, 1))),
    ("own origin", record(RecordLink(ORIGIN, 0, 1))),
    ("cost", record(RecordLink(b"b" * 8, 0, 0))),
    ("cost", record(RecordLink(b"b" * 8, 0, COST_MAX + 1))),
    ("port", record(paths=(NetPath("tcp4", "192.0.2.1", 0),))),
    ("twice", record(paths=(NetPath("tcp4", "192.0.2.1", 1),) * 2)),
    ("twice", record(offers=("exit", "exit"))),
    ("bad name", record(offers=("",))),
    ("bad name", record(offers=("a\nb",))),
    ("bad name", record(offers=("x" * 33,))),
    ("lifetime", record(lifetime_s=0)),
]


@pytest.mark.parametrize(("fault", "wrong"), FAULTS)
def test_a_record_that_makes_no_sense_is_not_written(fault: str, wrong: Record) -> None:
    with pytest.raises(UsageError, match=fault):
        wrong.serialize()


@pytest.mark.parametrize(
    "wrong",
    [
        record(RecordLink(b"short", 0, 1)),
        record(RecordLink(b"b" * 8, 0x10000, 1)),
        record(paths=(NetPath("ws4", "192.0.2.1", 1),)),
        record(paths=(NetPath("tcp4", "nowhere", 1),)),
        record(paths=(NetPath("tcp4", "2001:db8::1", 1),)),
        record(lifetime_s=0x10000),
    ],
)
def test_a_record_that_fits_no_field_is_not_written(wrong: Record) -> None:
    with pytest.raises(UsageError):
        wrong.serialize()


LINK = b"b" * 8 + bytes.fromhex("0007 00000001 00 00")


def content(counts: tuple[int, int, int], rest: bytes = b"", lifetime_s: int = 60) -> bytes:
    head = record(lifetime_s=60).serialize()[:-3]
    return head[:24] + lifetime_s.to_bytes(2) + head[26:] + bytes(counts) + rest


@pytest.mark.parametrize(
    ("fault", "data"),
    [
        ("lists too much", content((49, 0, 0), LINK * 49)),
        ("out of order", content((2, 0, 0), LINK * 2)),
        ("own origin", content((1, 0, 0), ORIGIN + LINK[8:])),
        ("cost", content((1, 0, 0), LINK[:10] + bytes(4) + LINK[14:])),
        ("cost", content((1, 0, 0), LINK[:10] + b"\xff" * 4 + LINK[14:])),
        ("cut short", content((1, 0, 0), LINK[:-1])),
        ("no known kind", content((0, 1, 0), b"\x06\xc0\x00\x02\x01\x00\x01")),
        ("cut short", content((0, 1, 0), b"\x02\xc0\x00\x02\x01\x00")),
        ("port", content((0, 1, 0), b"\x02\xc0\x00\x02\x01\x00\x00")),
        ("twice", content((0, 2, 0), b"\x02\xc0\x00\x02\x01\x00\x01" * 2)),
        ("bad name", content((0, 0, 1), b"\x00")),
        ("bad name", content((0, 0, 1), b"\x01\x07")),
        ("no text", content((0, 0, 1), b"\x01\xff")),
        ("lifetime", content((0, 0, 0), lifetime_s=0)),
    ],
)
def test_a_record_that_makes_no_sense_is_refused(fault: str, data: bytes) -> None:
    with pytest.raises(DecodeError, match=fault):
        Record.parse(data)


def test_a_record_of_24_links_stays_below_half_a_kilobyte() -> None:
    links = tuple(RecordLink(bytes([n]) * 8, n, 1000) for n in range(24))
    assert len(record(*links).serialize()) == 33 + 24 * 16


@pytest.mark.parametrize(
    ("bytes_per_s", "code"),
    [(0.0, 0), (1.0, 0), (1.01, 1), (1024.0, 80), (125e6, 215), (1e30, 255)],
)
def test_rates_are_encoded_in_eighths_of_a_doubling(bytes_per_s: float, code: int) -> None:
    assert rate_code(bytes_per_s) == code


@given(st.floats(2.0, 4e9))
def test_a_rate_is_encoded_to_five_per_cent(bytes_per_s: float) -> None:
    told = RecordLink(ORIGIN, 0, 1, rate=rate_code(bytes_per_s)).bytes_per_s
    assert told == pytest.approx(bytes_per_s, rel=0.05)


def test_an_unknown_rate_is_none() -> None:
    assert RecordLink(ORIGIN, 0, 1).bytes_per_s is None
