"""The `stream` channel: options, pieces, messages (T3)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError, ProtocolError, RemoteError, UsageError
from rookery.link.channels.stream import (
    JOINED_SIZE,
    MESSAGE_SIZE_MAX,
    OPTIONS_SIZE_MAX,
    Content,
    JsonMessage,
    MessageBoundaries,
    StreamPiece,
    StreamReassembler,
    parse_options,
    pieces,
    serialize_options,
)
from rookery.wire.link.lob import HEAD_SIZE_MAX, JsonObject, Packet

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
contents: st.SearchStrategy[Content] = st.one_of(
    st.binary(max_size=3000),
    json_values.map(JsonMessage),
    st.builds(Packet, st.binary(max_size=300), st.binary(max_size=3000)),
)
# Heads as a hostile peer may write them: known keys with any kind of value.
heads = st.dictionaries(st.sampled_from(["frag", "enc", "end", "x"]), json_values, max_size=4)


def reassembled(packets: list[StreamPiece]) -> list[Content]:
    reassembler = StreamReassembler()
    fed = [reassembler.feed(piece.head, piece.body) for piece in packets]
    reassembler.finish()
    return [content for content in fed if content is not None]


@given(st.lists(contents, max_size=5), st.integers(1, 1500))
def test_any_cutting_of_any_messages_reassembles(messages: list[Content], size: int) -> None:
    cut = [piece for message in messages for piece in pieces(message, size)]
    assert all(len(piece.body) <= size for piece in cut)
    assert reassembled(cut) == messages


@given(st.binary(max_size=3000), st.integers(1, 1500))
def test_the_bodies_alone_are_the_byte_stream(data: bytes, size: int) -> None:
    assert b"".join(piece.body for piece in pieces(data, size)) == data


@given(st.lists(st.tuples(heads, st.binary(max_size=40)), max_size=20))
def test_hostile_packets_give_messages_or_a_remote_error(
    packets: list[tuple[JsonObject, bytes]],
) -> None:
    reassembler = StreamReassembler(size_max=100)
    try:
        for head, body in packets:
            reassembler.feed(head, body)
        reassembler.finish()
    except RemoteError:
        return


def test_a_binary_message_goes_out_as_plain_packets() -> None:
    assert list(pieces(b"abcde", 2)) == [
        StreamPiece({"frag": True}, b"ab"),
        StreamPiece({"frag": True}, b"cd"),
        StreamPiece({}, b"e"),
    ]


def test_an_exact_fit_makes_no_empty_piece() -> None:
    assert [piece.body for piece in pieces(b"abcd", 2)] == [b"ab", b"cd"]


def test_an_empty_message_says_that_it_is_one() -> None:
    assert list(pieces(b"", 10)) == [StreamPiece({"enc": "binary"}, b"")]


def test_messages_of_the_public_javascript_peer_are_read() -> None:
    """The shapes captured from it: binary in 1000-byte fragments, JSON, and a packet (T7)."""
    data = bytes(range(250)) * 10
    captured = [
        StreamPiece({"frag": True, "c": 5, "seq": 3}, data[:1000]),
        StreamPiece({"frag": True, "c": 5, "seq": 4}, data[1000:2000]),
        StreamPiece({"enc": "binary", "c": 5, "seq": 5}, data[2000:]),
        StreamPiece({"enc": "json", "c": 3, "seq": 2}, b'{"a":1,"b":[2,3]}'),
        StreamPiece({"enc": "lob", "c": 5, "seq": 2}, b'\x00\x12{"type":"x","n":1}body'),
        StreamPiece({"end": True, "c": 5, "seq": 6}, b""),
    ]
    assert reassembled(captured) == [
        data,
        JsonMessage({"a": 1, "b": [2, 3]}),
        Packet.of({"type": "x", "n": 1}, b"body"),
    ]


def test_a_message_over_the_bound_is_refused_before_it_is_kept() -> None:
    reassembler = StreamReassembler(size_max=10)
    assert reassembler.feed({"frag": True}, b"12345678") is None
    with pytest.raises(ProtocolError, match="exceeds 10"):
        reassembler.feed({}, b"123")


def test_the_bound_is_per_message() -> None:
    reassembler = StreamReassembler(size_max=10)
    for _ in range(3):
        assert reassembler.feed({"frag": True}, b"12345") is None
        assert reassembler.feed({}, b"67890") == b"1234567890"


def test_an_end_within_a_message_is_an_error() -> None:
    reassembler = StreamReassembler()
    reassembler.feed({"frag": True}, b"half")
    with pytest.raises(ProtocolError, match="within a message"):
        reassembler.finish()


@pytest.mark.parametrize("encoding", ["cbor", "", None, 1, ["json"], {"a": "b"}])
def test_an_unknown_encoding_is_refused(encoding: object) -> None:
    with pytest.raises(ProtocolError, match="unknown encoding"):
        StreamReassembler().feed({"enc": encoding}, b"data")


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_json_message_is_a_decode_error(body: bytes) -> None:
    with pytest.raises(DecodeError, match="not JSON"):
        StreamReassembler().feed({"enc": "json"}, body)


def test_a_damaged_packet_message_is_a_decode_error() -> None:
    with pytest.raises(DecodeError, match="head should end"):
        StreamReassembler().feed({"enc": "lob"}, b"\x00\xff{}")


@pytest.mark.parametrize("value", [{1: 2, (): 3}, object(), "\ud800"])
def test_what_is_not_json_cannot_be_sent(value: object) -> None:
    with pytest.raises(UsageError, match="not JSON"):
        list(pieces(JsonMessage(value), 100))
    with pytest.raises(UsageError, match="not JSON"):
        serialize_options({"value": value})


def test_messages_that_no_peer_would_take_cannot_be_sent() -> None:
    with pytest.raises(UsageError, match="exceeds"):
        list(pieces(bytes(MESSAGE_SIZE_MAX + 1), 1000))
    with pytest.raises(UsageError, match="head"):
        list(pieces(Packet(bytes(HEAD_SIZE_MAX + 1)), 1000))


def test_bytes_join_to_one_message_while_more_follow() -> None:
    """telehash-js stops for good when sixteen messages wait at once (T7)."""
    joints = MessageBoundaries()
    assert joints.head(1200, more=True) == {"frag": True}
    assert joints.head(800, more=False) is None
    assert joints.head(1200, more=True) == {"frag": True}


def test_joined_bytes_come_to_an_end() -> None:
    joints = MessageBoundaries()
    heads = [joints.head(JOINED_SIZE // 4, more=True) for _ in range(8)]
    assert heads == [{"frag": True}] * 3 + [None] + [{"frag": True}] * 3 + [None]
    assert joints.head(JOINED_SIZE, more=True) is None


def test_an_open_with_or_without_options_is_read() -> None:
    assert serialize_options(None) == b""
    assert parse_options(b"") == {}
    assert parse_options(serialize_options({})) == {}
    assert parse_options(serialize_options({"file": "a.txt"})) == {"file": "a.txt"}


def test_options_that_do_not_fit_the_open_packet_are_refused() -> None:
    fitting = OPTIONS_SIZE_MAX - 2 - len('{"a":""}')
    assert len(serialize_options({"a": "x" * fitting})) == OPTIONS_SIZE_MAX
    with pytest.raises(UsageError, match="exceed"):
        serialize_options({"a": "x" * (fitting + 1)})


@given(st.binary(max_size=200))
def test_arbitrary_options_parse_or_raise_decode_error(body: bytes) -> None:
    try:
        options = parse_options(body)
    except DecodeError:
        return
    assert isinstance(json.dumps(options), str)
