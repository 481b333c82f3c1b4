"""F1: TLV over datagrams and streams."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.fleet.tlv import Tlv, TlvReader, parse_all, serialize

TLVS = st.builds(Tlv, st.integers(0, 0xFFFF), st.binary(max_size=300))


def bytes_of(tlvs: list[Tlv]) -> bytes:
    return b"".join(serialize(*each) for each in tlvs)


@given(st.lists(TLVS, min_size=1, max_size=8))
def test_a_datagram_survives_the_wire_f1(tlvs: list[Tlv]) -> None:
    assert parse_all(bytes_of(tlvs)) == tlvs


@given(st.binary(max_size=200))
def test_arbitrary_bytes_parse_or_raise_decode_error_f1(data: bytes) -> None:
    try:
        tlvs = parse_all(data)
    except DecodeError:
        return
    assert bytes_of(tlvs) == data


@pytest.mark.parametrize(
    "data",
    [b"", b"\x00", b"\x00\x01\x00", b"\x00\x01\x00\x02x", b"\x0c\x01\xff\xff" + bytes(1000)],
)
def test_lengths_that_lie_are_refused_f1(data: bytes) -> None:
    with pytest.raises(DecodeError):
        parse_all(data)


def test_a_datagram_holds_eight_at_most() -> None:
    one = serialize(1, b"")
    assert len(parse_all(one * 8)) == 8
    with pytest.raises(DecodeError, match="more than 8"):
        parse_all(one * 9)


@given(st.lists(TLVS, max_size=6), st.lists(st.integers(1, 40), max_size=80))
def test_a_stream_may_be_cut_anywhere_f1(tlvs: list[Tlv], cuts: list[int]) -> None:
    data, reader, found = bytes_of(tlvs), TlvReader(300), []
    for size in [*cuts, len(data)]:
        found += reader.feed(data[:size])
        data = data[size:]
    found += reader.feed(data)
    assert found == tlvs
    assert reader.is_between


def test_a_stream_byte_by_byte() -> None:
    reader, data = TlvReader(), serialize(7, b"hello") + serialize(8, b"")
    found = [each for at in range(len(data)) for each in reader.feed(data[at : at + 1])]
    assert found == [Tlv(7, b"hello"), Tlv(8, b"")]


def test_a_stream_that_ends_within_a_tlv_is_known_f1() -> None:
    reader = TlvReader()
    assert reader.feed(serialize(7, b"hello")[:-1]) == []
    assert not reader.is_between


@pytest.mark.parametrize("cut", [4, 5, 20])
def test_a_length_beyond_the_bound_is_refused_with_the_head_f1(cut: int) -> None:
    data = serialize(1, bytes(65))
    assert TlvReader(64).feed(data[:3]) == []
    with pytest.raises(DecodeError, match="64 are allowed"):
        TlvReader(64).feed(data[:cut])
