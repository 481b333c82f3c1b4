"""F1, F3, F4: the values of the fleet's datagrams."""

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.fleet import tlv
from rookery.wire.fleet.datagrams import (
    BOOT_SEQUENCE_MAX,
    HELLO_DATAGRAM_SIZE_MIN,
    AckDatagram,
    CallDatagram,
    FaultDatagram,
    HelloDatagram,
    IssuedSecret,
    ReportDatagram,
    SealedSecret,
    report_proved,
    serialize_ack,
    serialize_plain,
    serialize_report,
)
from rookery.wire.fleet.tags import TELEMETRY

ID = st.binary(min_size=6, max_size=6)
U32 = st.integers(0, 2**32 - 1)
U64 = st.integers(0, 2**64 - 1)
LINEAGES = st.integers(1, BOOT_SEQUENCE_MAX)
PROOFS = st.binary(min_size=16, max_size=16)
TAGS = st.integers(1, 4096)


def sized(size: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size)


@given(TAGS, ID, U32, LINEAGES, LINEAGES, st.binary(max_size=1200), PROOFS)
def test_a_report_survives_the_wire_f3(
    tag: int,
    sender: bytes,
    generation: int,
    boot: int,
    sequence: int,
    content: bytes,
    proof: bytes,
) -> None:
    proved = report_proved(tag, sender, generation, boot, sequence, content)
    data = serialize_report(proved, proof)
    report = ReportDatagram.parse(data)
    told = (report.tag, report.sender, report.generation, report.boot, report.sequence)
    assert told == (tag, sender, generation, boot, sequence)
    assert (report.content, report.proof, report.proved) == (content, proof, proved)
    assert tlv.parse_all(data) == [tlv.Tlv(tag, data[4:])]


@given(st.binary(max_size=120))
def test_arbitrary_bytes_are_a_report_or_raise_decode_error(data: bytes) -> None:
    try:
        report = ReportDatagram.parse(data)
    except DecodeError:
        return
    assert serialize_report(report.proved, report.proof) == data


@given(ID, LINEAGES, LINEAGES, sized(32))
def test_a_plain_report_has_boot_and_sequence_in_its_content_f4(
    sender: bytes, boot: int, sequence: int, secret: bytes
) -> None:
    content = msgspec.msgpack.encode({"b": boot, "n": sequence})
    report = ReportDatagram.parse(serialize_plain(TELEMETRY, sender, secret, content))
    assert (report.boot, report.sequence, report.proof) == (boot, sequence, secret)


@pytest.mark.parametrize(
    "content", [{"b": 1}, {"b": 1, "n": 0}, {"b": -1, "n": 1}, "text"], ids=str
)
def test_a_plain_report_without_boot_and_sequence_is_refused_f4(content: object) -> None:
    data = serialize_plain(TELEMETRY, bytes(6), bytes(32), msgspec.msgpack.encode(content))
    assert ReportDatagram.read(data) is None


@given(ID, sized(8), sized(64), sized(32), sized(8), PROOFS)
def test_a_hello_survives_the_wire_f4(
    sender: bytes, nonce: bytes, key: bytes, digest: bytes, code_id: bytes, proof: bytes
) -> None:
    hello = HelloDatagram(sender, nonce, key, digest, code_id, proof)
    for size_min in (0, HELLO_DATAGRAM_SIZE_MIN):
        data = hello.serialize(3075, size_min)
        assert len(data) >= size_min
        (only,) = tlv.parse_all(data)
        assert HelloDatagram.parse(only.value) == hello


def test_the_padding_of_a_hello_says_nothing() -> None:
    value = HelloDatagram(bytes(6), bytes(8), bytes(64), bytes(32)).serialize(3075, 192)[4:]
    with pytest.raises(DecodeError):
        HelloDatagram.parse(value[:-1] + b"\x01")
    with pytest.raises(DecodeError):
        HelloDatagram.parse(value[:133])


@given(ID, U64, U64, U64, PROOFS)
def test_answers_survive_the_wire_f3_f7(
    sender: bytes, boot: int, sequence: int, wish: int, proof: bytes
) -> None:
    ack = AckDatagram(sender, boot, sequence, proof)
    (only,) = tlv.parse_all(serialize_ack(ack.proved, proof))
    assert AckDatagram.parse(only.value) == ack
    call = CallDatagram(sender, boot, sequence, wish, proof)
    (only,) = tlv.parse_all(call.serialize())
    assert CallDatagram.parse(only.value) == call
    for fault in (
        FaultDatagram(2, sender, boot, sequence, proof),
        FaultDatagram(1, sender, boot, sequence),
    ):
        (only,) = tlv.parse_all(fault.serialize())
        assert FaultDatagram.parse(only.value) == fault


@given(U32, sized(32), sized(8), U64)
def test_what_is_sealed_survives_and_does_not_show_f4(
    generation: int, secret: bytes, nonce: bytes, hub_ms: int
) -> None:
    issue = IssuedSecret(generation, secret, nonce, hub_ms)
    assert IssuedSecret.parse(issue.serialize()) == issue
    assert repr(issue) == f"IssuedSecret(generation={generation})"


@pytest.mark.parametrize(
    "parse",
    [
        AckDatagram.parse,
        CallDatagram.parse,
        FaultDatagram.parse,
        IssuedSecret.parse,
        HelloDatagram.parse,
    ],
)
@given(value=st.binary(max_size=60))
def test_arbitrary_values_parse_or_raise_decode_error(
    parse: Callable[[bytes], object], value: bytes
) -> None:
    try:
        parsed = parse(value)
    except DecodeError:
        return
    assert isinstance(parsed, tuple)
    assert b"".join(tlv_values(parsed)) == value


def tlv_values(parsed: object) -> list[bytes]:
    """The value again, by the way a sender makes it."""
    match parsed:
        case AckDatagram():
            return [serialize_ack(parsed.proved, parsed.proof)[4:]]
        case CallDatagram() | FaultDatagram():
            return [parsed.serialize()[4:]]
        case IssuedSecret():
            return [parsed.serialize()]
        case _:
            raise AssertionError(parsed)


def test_a_sealed_secret_names_its_sender_f4() -> None:
    sealed = SealedSecret(b"router", b"message")
    assert SealedSecret.parse(sealed.serialize()) == sealed
    with pytest.raises(DecodeError):
        SealedSecret.parse(b"router")
