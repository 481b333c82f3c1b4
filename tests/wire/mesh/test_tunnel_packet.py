"""M4: the codec of tunnels' packets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.link.frame_types import TUNNEL
from rookery.wire.link.framing import FRAME_SIZE_MAX
from rookery.wire.mesh.tunnel_data import (
    ACK_HEADER_SIZE,
    DATA_HEADER_SIZE,
    RANGE_SIZE,
    RANGES_MAX,
    TunnelAck,
    TunnelData,
)
from rookery.wire.mesh.tunnel_frames import (
    Frame,
    TunnelClose,
    TunnelCredit,
    TunnelDatagram,
    TunnelOpens,
    TunnelProbe,
    TunnelReset,
    TunnelStop,
)
from rookery.wire.mesh.tunnel_packet import (
    HEAD_SIZE,
    PACKET_SIZE_MAX,
    PREFIX_SIZE,
    TunnelPacket,
    head,
    prefix,
)
from rookery.wire.mesh.tunnel_reader import parse_usual
from rookery.wire.octets import Octets

U32 = st.integers(0, 2**32 - 1)
U64 = st.integers(0, 2**64 - 1)
STREAMS = st.integers(1, 2**32 - 1)
OFFSETS = st.integers(0, 2**63)


@st.composite
def acks(draw: st.DrawFn) -> TunnelAck:
    """Runs of at least one packet, each after a gap of at least one."""
    steps = draw(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=32))
    top = draw(st.integers(1, 2**40)) + sum(gap + run for gap, run in steps)
    ranges, below = [], top
    for index, (gap, run) in enumerate(steps):
        last = below - (gap if index else 0)
        ranges.append((last - run + 1, last))
        below = last - run
    return TunnelAck(draw(U32), tuple(ranges), draw(U32), draw(U32))


FRAMES: st.SearchStrategy[Frame] = st.one_of(
    st.builds(TunnelData, STREAMS, OFFSETS, st.binary(max_size=300), st.booleans()),
    acks(),
    st.builds(TunnelCredit, U32, U64),
    st.builds(TunnelOpens, U32),
    st.builds(TunnelReset, STREAMS, U32, OFFSETS),
    st.builds(TunnelStop, STREAMS, U32),
    st.builds(TunnelDatagram, st.binary(max_size=300)),
    st.just(TunnelProbe()),
    st.builds(TunnelClose, st.integers(0, 2**16 - 1), st.text(max_size=60)),
)

PACKETS = st.builds(
    TunnelPacket, U64, U32, st.integers(0, 2**63), st.lists(FRAMES, max_size=6), st.booleans()
)


@given(PACKETS)
def test_a_packet_survives_the_wire(packet: TunnelPacket) -> None:
    """M4"""
    told = packet.serialize()
    assert TunnelPacket.parse(*told) == packet


def _read(body: Octets) -> TunnelPacket | None:
    try:
        return TunnelPacket.parse(head(1, is_first=False), body)
    except DecodeError:
        return None


@given(STREAMS, OFFSETS, U32, st.integers(1, 2**32 - 1), st.binary(max_size=80))
def test_the_usual_small_packet_is_read_in_one_go(
    stream: int, offset: int, way: int, run: int, written: bytes
) -> None:
    frames: list[Frame] = [
        TunnelAck(way, ((7, 6 + run),), 8, 9),
        TunnelData(stream, offset, written),
    ]
    _, body = TunnelPacket(7, 1, 2, frames).serialize()
    assert parse_usual(body) == frames


def test_the_usual_reader_lets_nothing_pass_that_the_other_refuses() -> None:
    """Each byte bent, and the packet cut there: views are read the general way."""
    frames: list[Frame] = [TunnelAck(1, ((1, 2),)), TunnelData(1, 5, b"ab")]
    _, body = TunnelPacket(7, 1, 2, frames).serialize()
    told = [body, body + body[PREFIX_SIZE:]]
    for at in range(PREFIX_SIZE, len(body)):
        told.append(body[:at])
        told += [body[:at] + bytes((value,)) + body[at + 1 :] for value in (0, 1, 2, 3, 128, 255)]
    for each in told:
        assert _read(each) == _read(memoryview(each))


@given(st.binary(max_size=8), st.binary(max_size=200))
def test_arbitrary_bytes_parse_or_raise_decode_error(tail: bytes, body: bytes) -> None:
    try:
        packet = TunnelPacket.parse(bytes((TUNNEL,)) + tail, body)
    except DecodeError:
        return
    assert packet.serialize() == (bytes((TUNNEL,)) + tail, body)


@given(PACKETS, st.data())
def test_a_packet_that_was_cut_or_bent_parses_or_raises_decode_error(
    packet: TunnelPacket, data: st.DataObject
) -> None:
    top, body = packet.serialize()
    at = data.draw(st.integers(0, len(body) - 1))
    bent = body[:at] + data.draw(st.binary(max_size=2)) + body[at + 1 :]
    try:
        parsed = TunnelPacket.parse(top, bent)
    except DecodeError:
        return
    assert parsed.serialize() == (top, bent)


HEAD = head(1, is_first=False)


@pytest.mark.parametrize(
    "frames",
    [
        pytest.param(b"\x00", id="no such type"),
        pytest.param(b"\x0c", id="a type of the future"),
        pytest.param(b"\x0b\x00\x01\x01\xff", id="not UTF-8"),
        pytest.param(bytes.fromhex("02 00000001 0000000000000000 0005 aabb"), id="too little data"),
        pytest.param(bytes.fromhex("02 00000000 0000000000000000 0000"), id="data of stream 0"),
        pytest.param(bytes.fromhex("02 00000001 ffffffffffffffff 0000"), id="beyond all offsets"),
        pytest.param(
            bytes.fromhex("04 00000001 0000000000000005 00000000 00000000 00"), id="no run"
        ),
        pytest.param(
            bytes.fromhex("04 00000001 0000000000000005 00000000 00000000 01 00000000 00000006"),
            id="packet 0 acknowledged",
        ),
        pytest.param(
            bytes.fromhex("04 00000001 0000000000000005 00000000 00000000 01 00000001 00000001"),
            id="the largest did not come",
        ),
        pytest.param(
            bytes.fromhex("04 00000001 0000000000000005 00000000 00000000 02")
            + bytes.fromhex("00000000 00000001 00000000 00000001"),
            id="two runs without a gap",
        ),
        pytest.param(
            bytes.fromhex("07 00000000 00000001 0000000000000000"), id="reset of stream 0"
        ),
        pytest.param(bytes.fromhex("08 00000000 00000001"), id="stop of stream 0"),
        pytest.param(bytes.fromhex("0b 0001 05 61"), id="a reason cut short"),
    ],
)
def test_nonsense_is_refused(frames: bytes) -> None:
    with pytest.raises(DecodeError):
        TunnelPacket.parse(HEAD, prefix(1, 1) + frames)


@pytest.mark.parametrize(
    ("top", "body"),
    [
        pytest.param(HEAD[:-1], bytes(16), id="a short head"),
        pytest.param(HEAD, bytes(15), id="a short body"),
        pytest.param(b"\x0a" + HEAD[1:], bytes(16), id="another frame"),
        pytest.param(b"\x0b\x02" + HEAD[2:], bytes(16), id="unknown flags"),
        pytest.param(HEAD, prefix(1, 2**63 + 1), id="a number beyond all"),
    ],
)
def test_what_is_no_packet_of_a_tunnel_is_refused(top: bytes, body: bytes) -> None:
    with pytest.raises(DecodeError):
        TunnelPacket.parse(top, body)


def test_a_long_reason_is_cut_between_letters() -> None:
    told = TunnelPacket(1, 1, 0, [TunnelClose(1, "é" * 200)]).serialize()
    assert TunnelPacket.parse(*told).frames == [TunnelClose(1, "é" * 127)]


def test_what_is_read_from_a_socket_at_once_fits_one_packet() -> None:
    """Else every read would make two packets, a large one and a small one."""
    read_size = 256_000  # libuv's
    ack_size = ACK_HEADER_SIZE + RANGES_MAX * RANGE_SIZE
    around = HEAD_SIZE + PREFIX_SIZE + ack_size + DATA_HEADER_SIZE
    assert read_size + around <= PACKET_SIZE_MAX
    token, counter, tag, lengths = 16, 8, 16, 4
    assert PACKET_SIZE_MAX + token + counter + tag + lengths <= FRAME_SIZE_MAX
