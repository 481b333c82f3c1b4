"""C5, C6, C8: node packets and channel frames against the captures of the public implementation."""

import struct

import pytest
from _pytest.mark import ParameterSet
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError, UsageError
from rookery.wire.crow.channel import (
    FRAME_ID_MODULUS,
    ChannelAnswer,
    ChannelData,
    ChannelFrame,
    ChannelRefuse,
    ChannelRequest,
    parse_channel_frame,
)
from rookery.wire.crow.node import (
    CHUNK_HEADER_SIZE,
    CHUNKS_MAX,
    ERROR_UNKNOWN_NODE,
    HEADER_SIZE,
    MESSAGE_SIZE_MAX,
    NODE_MAX,
    NodePacket,
)
from rookery.wire.crow.packet import NODE, CrowPacket
from tests.wire.crow_captures import VECTORS, Node

nodes = st.integers(0, NODE_MAX)
words = st.integers(0, 0xFFFF)
handshakes = {"qos": st.integers(0, 2), "ackquant_ms": words, "frame_id": words}
frames: st.SearchStrategy[ChannelFrame] = st.one_of(
    st.builds(ChannelRequest, **handshakes),
    st.builds(ChannelAnswer, **handshakes),
    st.builds(ChannelData, words, st.binary(max_size=60)),
    st.builds(ChannelRefuse, words),
)


def captured() -> list[ParameterSet]:
    return [
        pytest.param(bytes.fromhex(step.decoded.data), step.decoded.node, id=f"{name}-{number}")
        for name, sequence in VECTORS.sequences.items()
        for number, step in enumerate(sequence.steps)
        if step.decoded.type == NODE and not step.decoded.ack
    ]


@pytest.mark.parametrize(("data", "node"), captured())
def test_every_captured_node_packet_is_read_and_written_again(data: bytes, node: Node) -> None:
    """C5, C8"""
    packet = NodePacket.parse(data)
    assert (packet.sid, packet.rid) == (node.sid, node.rid)
    assert packet.is_error == (node.type == 1)
    assert (packet.chunk_id is not None, packet.has_more) == (node.chunked, node.has_more)
    assert packet.data == bytes.fromhex(node.body)[2 if node.chunked else 0 :]
    assert packet.serialize() == data


def test_an_unknown_node_is_reported_as_captured() -> None:
    """C5"""
    asked, answered = (
        NodePacket.parse(CrowPacket.parse(step.packet).data)
        for step in VECTORS.sequences["node"].steps[2:4]
    )
    assert NodePacket.error(asked.rid, asked.sid) == answered
    assert (answered.is_error, answered.error_code) == (True, ERROR_UNKNOWN_NODE)


@pytest.mark.parametrize("size", [0, 3, 5])
def test_an_error_without_a_code_is_refused(size: int) -> None:
    packet = NodePacket(1, 2, bytes(size), is_error=True)
    with pytest.raises(DecodeError):
        _ = packet.error_code


def test_a_message_is_cut_into_the_captured_chunks() -> None:
    """C8: the broker's chunk size is 1000, subheader included."""
    sent = [
        NodePacket.parse(CrowPacket.parse(step.packet).data)
        for step in VECTORS.sequences["big_publish"].steps
    ]
    chunks = [packet for packet in sent if packet.chunk_id is not None]
    assert [(packet.chunk_id, packet.has_more) for packet in chunks] == [(0, True), (1, False)]
    whole = NodePacket(3, 50, b"".join(packet.data for packet in chunks))
    assert whole.chunks(1000) == chunks
    published = sent[1].data
    assert whole.data[1:] == published[1:]


@given(st.builds(NodePacket, nodes, nodes, st.binary(max_size=300)), st.integers(8, 400))
def test_chunks_together_are_the_message(packet: NodePacket, size: int) -> None:
    chunks = packet.chunks(size)
    assert b"".join(chunk.data for chunk in chunks) == packet.data
    assert all(len(chunk.serialize()) <= size for chunk in chunks)
    assert [chunk.has_more for chunk in chunks] == [True] * (len(chunks) - 1) + [False]
    if len(chunks) > 1:
        assert [chunk.chunk_id for chunk in chunks] == list(range(len(chunks)))
    else:
        assert chunks == [packet]


def test_a_message_that_just_fits_stays_whole() -> None:
    packet = NodePacket(1, 2, bytes(95))
    assert packet.chunks(HEADER_SIZE + 95) == [packet]
    assert len(packet.chunks(HEADER_SIZE + 94)) == 2


def test_no_message_becomes_more_chunks_than_are_put_together() -> None:
    """C8: the bounds of the public receiver."""
    largest = NodePacket(1, 2, bytes(MESSAGE_SIZE_MAX))
    assert len(largest.chunks(CHUNK_HEADER_SIZE + 64)) == CHUNKS_MAX
    for packet, size in (
        (largest, CHUNK_HEADER_SIZE + 63),
        (NodePacket(1, 2, bytes(MESSAGE_SIZE_MAX + 1)), 1000),
        (largest, CHUNK_HEADER_SIZE),
        (largest, 0),
    ):
        with pytest.raises(UsageError):
            packet.chunks(size)


@given(
    st.builds(
        NodePacket,
        nodes,
        nodes,
        st.binary(max_size=60),
        is_error=st.booleans(),
        chunk_id=words,
        has_more=st.booleans(),
    )
    | st.builds(NodePacket, nodes, nodes, st.binary(max_size=60), is_error=st.booleans())
)
def test_node_packet_round_trip(packet: NodePacket) -> None:
    assert NodePacket.parse(packet.serialize()) == packet


@given(st.binary(max_size=20))
def test_arbitrary_bytes_parse_or_raise_decode_error(data: bytes) -> None:
    try:
        packet = NodePacket.parse(data)
    except DecodeError:
        return
    assert NodePacket.parse(packet.serialize()) == packet
    assert data.endswith(packet.data)


def test_reserved_bits_are_ignored() -> None:
    assert NodePacket.parse(b"\x01\x00\x02\x00\x0dhi") == NodePacket(1, 2, b"hi")


@pytest.mark.parametrize(
    "data",
    [
        *(bytes(size) for size in range(HEADER_SIZE)),
        b"\x01\x00\x02\x00\x02",  # chunked, without a chunk id
        b"\x01\x00\x02\x00\x02\x00",
        b"\x01\x00\x02\x00\x20hi",  # of kind 2
    ],
)
def test_what_is_no_node_packet_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        NodePacket.parse(data)


@pytest.mark.parametrize(
    "packet",
    [
        NodePacket(NODE_MAX + 1, 0, b""),
        NodePacket(0, -1, b""),
        NodePacket(0, 0, b"", chunk_id=0x10000),
    ],
)
def test_what_no_subheader_can_say_is_not_sent(packet: NodePacket) -> None:
    with pytest.raises(UsageError):
        packet.serialize()


def test_every_captured_channel_frame_is_read_and_written_again() -> None:
    """C6, C8"""
    messages = [
        NodePacket.parse(bytes.fromhex(step.decoded.data)).data
        for step in VECTORS.sequences["channel"].steps
        if step.decoded.type == NODE and not step.decoded.ack
    ]
    read = [parse_channel_frame(data) for data in messages]
    assert read == [
        ChannelRequest(qos=1, ackquant_ms=100),
        ChannelAnswer(qos=1, ackquant_ms=100),
        ChannelData(0, b"m0"),
        ChannelData(1, b"m1"),
        ChannelData(0, b"from-server"),
    ]
    assert [frame.serialize() for frame in read] == messages


@given(frames)
def test_channel_frame_round_trip(frame: ChannelFrame) -> None:
    assert parse_channel_frame(frame.serialize()) == frame


@given(st.binary(max_size=8))
def test_arbitrary_bytes_are_a_channel_frame_or_raise_decode_error(data: bytes) -> None:
    try:
        frame = parse_channel_frame(data)
    except DecodeError:
        return
    assert frame.serialize() == data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00\x00",
        b"\x00\x00\x00",
        b"\x00\x00\x01\x01\x64",
        b"\x00\x00\x00\x01\x64\x00\x00",
        b"\x00\x00\x00\x03\x64\x00",  # quality 3
        b"\x00\x00\x03\x00",
        b"\x00\x00\x04",
    ],
)
def test_what_is_no_channel_frame_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        parse_channel_frame(data)


@pytest.mark.parametrize(
    "frame",
    [
        ChannelRequest(qos=3, ackquant_ms=0),
        ChannelAnswer(qos=-1, ackquant_ms=0),
        ChannelRequest(qos=0, ackquant_ms=0x10000),
        ChannelAnswer(qos=0, ackquant_ms=0, frame_id=FRAME_ID_MODULUS),
    ],
)
def test_what_no_handshake_can_say_is_not_sent(frame: ChannelFrame) -> None:
    with pytest.raises(UsageError):
        frame.serialize()


def test_nodes_of_2019_had_other_subheaders() -> None:
    """C8: no flags byte and a frame type of 4 bytes. The header does not tell the eras apart, so we
    speak the subheader that the public implementation puts under v0 headers today.
    """
    data = [
        bytes.fromhex(step.decoded.data)
        for name in ("g1_era", "g1_channel_direct")
        for step in VECTORS.g1_era_2019_05.sequences[name].steps
        if step.decoded.type == NODE and not step.decoded.ack
    ]
    messages = [(*struct.unpack_from("<HH", message), message[4:]) for message in data]
    assert messages[:2] == [(9, 42, b"to42"), (9, 43, b"nobody")]
    handshake = struct.pack("<HIBH", 0, 0, 1, 100)
    assert messages[2:8] == [(77, 30, handshake)] + [(512, 77, handshake)] * 5
    assert messages[8:] == [
        (77, 77, handshake),
        (77, 77, struct.pack("<HI", 0, 1) + b"m0"),
        (77, 77, struct.pack("<HI", 1, 1) + b"m1"),
    ]
    with pytest.raises(DecodeError):
        NodePacket.parse(data[0])  # the first letter of the message, taken for flags
