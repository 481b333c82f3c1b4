"""F3, F5: what senders say of themselves."""

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError, UsageError
from rookery.wire.fleet.telemetry import (
    CONTENT_SIZE_MAX,
    CallReport,
    DeviceReport,
    InterfaceCounters,
    LinkTelemetry,
    LoadReport,
    Report,
    ReportOrigin,
    SessionReport,
    decode,
    encode,
    report_origin,
)

DEVICE = DeviceReport(
    t=1_800_000_000_000,
    b=5,
    n=6,
    up=12.5,
    load=0.25,
    mem=0.5,
    disk=0.75,
    temp=41.5,
    ifs={"eth0": InterfaceCounters(1, 2, 3, 4, 5, 6)},
    links=(LinkTelemetry("peer", "udp4", 12.5, 0.01, 900.0),),
    agent="0.1.0",
    dropped=3,
)
LOAD = LoadReport(
    t=1, seats_max=10, seats_used=3, cpu=0.5, tcp="192.0.2.1:4000", ws="wss://x/rpc", key2a=b"k"
)
CALL = CallReport(t=1, who="ann", router="02:fc:00:00:00:01", method="system.info", ms=3.5, code=-1)
SESSION = SessionReport(
    t=1, seat="s", who="ann", router="02:fc:00:00:00:01", opened_at=1, closed_at=2, reason="done"
)


@pytest.mark.parametrize(
    "report", [DEVICE, LOAD, CALL, SESSION], ids=lambda report: type(report).__name__
)
def test_reports_survive_the_wire_f3_f5(report: Report) -> None:
    assert decode(encode(report)) == report


def test_the_kind_comes_first_f3() -> None:
    assert encode(DEVICE)[1:].startswith(b"\xa4kind\xa6device")


def test_a_report_with_every_key_has_the_long_header() -> None:
    full = msgspec.structs.replace(DEVICE, system="Linux", stream=0x40, signal=-52.0)
    content = encode(full)
    assert content.startswith(b"\xde\x00\x10\xa4kind\xa6device")
    assert decode(content) == full


def test_what_a_newer_sender_adds_is_passed_over() -> None:
    known = msgspec.msgpack.decode(encode(LOAD))
    assert decode(msgspec.msgpack.encode({**known, "novelty": [1, 2]})) == LOAD


def test_a_signal_is_optional_in_both_directions() -> None:
    """An older sender leaves it out, and an older hub passes it over."""
    assert b"signal" not in encode(DEVICE)
    told = msgspec.structs.replace(DEVICE, signal=-52.0)
    assert decode(encode(told)) == told
    known = {each.name for each in msgspec.structs.fields(DeviceReport)} - {"signal"}
    former = msgspec.defstruct(
        "DeviceReport",
        [
            (each.name, each.type, each.default)
            for each in msgspec.structs.fields(DeviceReport)
            if each.name in known and each.name not in {"t", "ifs"}
        ],
        tag_field="kind",
        tag="device",
    )
    assert msgspec.msgpack.decode(encode(told), type=former) == msgspec.msgpack.decode(
        encode(DEVICE), type=former
    )


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_a_report_or_raise_decode_error(data: bytes) -> None:
    for read in (decode, report_origin):
        with suppress(DecodeError):
            read(data)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "novel"},
        {"t": -1},
        {"t": 2**63},
        {"mem": 1.5},
        {"signal": 101.0},
        {"load": float("nan")},
        {"up": float("inf")},
        {"agent": "x" * 65},
        {"ifs": {str(number): [] for number in range(65)}},
        {"links": "none"},
    ],
    ids=str,
)
def test_values_beyond_their_bounds_are_refused(change: dict[str, object]) -> None:
    known = msgspec.msgpack.decode(encode(DEVICE))
    with pytest.raises(DecodeError):
        decode(msgspec.msgpack.encode({**known, **change}))


def test_text_that_is_none_is_refused() -> None:
    content = encode(DEVICE).replace(b"0.1.0", b"\xff" * 5)
    with pytest.raises(DecodeError, match="utf-8"):
        decode(content)


def test_deep_nesting_is_refused() -> None:
    nested = b"\x82\xa4kind\xa6device\xa1x" + b"\x91" * 1100
    for read in (decode, report_origin):
        with pytest.raises(DecodeError):
            read(nested)


def test_more_than_a_datagram_holds_is_refused() -> None:
    with pytest.raises(DecodeError, match="1201 bytes"):
        decode(bytes(CONTENT_SIZE_MAX + 1))


def test_a_device_with_too_much_to_tell_leaves_out_links_then_interfaces_f3() -> None:
    links = tuple(LinkTelemetry("p" * 52, "udp4", 1.0, 0.0) for _ in range(64))
    ifs = {f"eth{number}": InterfaceCounters(*[2**40] * 6) for number in range(40)}
    told = decode(encode(msgspec.structs.replace(DEVICE, links=links)))
    assert isinstance(told, DeviceReport)
    assert told.ifs == DEVICE.ifs
    assert 8 <= len(told.links) < 64
    told = decode(encode(msgspec.structs.replace(DEVICE, links=links, ifs=ifs)))
    assert isinstance(told, DeviceReport)
    assert not told.links
    assert 10 <= len(told.ifs) < 40
    assert told.agent == DEVICE.agent


def test_what_cannot_be_made_to_fit_is_our_own_mistake() -> None:
    with pytest.raises(UsageError, match="1200 are allowed"):
        encode(msgspec.structs.replace(LOAD, key2a=bytes(1300)))
    with pytest.raises(UsageError, match="1200 are allowed"):
        encode(msgspec.structs.replace(DEVICE, agent="x" * 1300))


def test_boot_and_sequence_are_read_without_the_rest_f4() -> None:
    assert report_origin(msgspec.msgpack.encode({"b": 5, "n": 6, "mem": "much"})) == ReportOrigin(
        5, 6
    )
