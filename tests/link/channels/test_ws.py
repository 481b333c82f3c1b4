"""The `ws` channel, `ts` on the wire: paths, acceptance, pieces (T3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import ProtocolError, RemoteError, UsageError
from rookery.link.channels.ws import (
    MESSAGE_SIZE_MAX,
    PATH_SIZE_MAX,
    TYPE,
    WsPiece,
    WsReassembler,
    acceptance,
    check_acceptance,
    opening,
    path_of,
    pieces,
)
from rookery.wire.link.lob import JsonObject

scalars = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers())
heads = st.dictionaries(st.sampled_from(["done", "open", "path", "x"]), scalars)


@given(st.lists(st.binary(max_size=3000), max_size=5), st.integers(1, 1500))
def test_any_cutting_of_any_messages_reassembles(messages: list[bytes], size: int) -> None:
    reassembler, received = WsReassembler(), []
    for piece in [piece for message in messages for piece in pieces(message, size)]:
        assert len(piece.body) <= size
        if (message := reassembler.feed(piece.head, piece.body)) is not None:
            received.append(message)
    reassembler.finish()
    assert received == messages


@given(st.lists(st.tuples(heads, st.binary(max_size=40)), max_size=20))
def test_hostile_packets_give_messages_or_a_remote_error(
    packets: list[tuple[JsonObject, bytes]],
) -> None:
    reassembler = WsReassembler(size_max=100)
    try:
        for head, body in packets:
            check_acceptance(head)
            path_of(head)
            reassembler.feed(head, body)
        reassembler.finish()
    except RemoteError:
        return


def test_the_type_on_the_wire_is_the_old_one() -> None:
    assert TYPE == "ts"


def test_only_the_last_piece_is_done() -> None:
    assert list(pieces(b"abcde", 2)) == [
        WsPiece({}, b"ab"),
        WsPiece({}, b"cd"),
        WsPiece({"done": True}, b"e"),
    ]


def test_a_message_over_the_bound_is_refused_in_both_directions() -> None:
    with pytest.raises(UsageError, match="exceeds"):
        list(pieces(bytes(MESSAGE_SIZE_MAX + 1), 1000))
    reassembler = WsReassembler(size_max=4)
    reassembler.feed({}, b"1234")
    with pytest.raises(ProtocolError, match="exceeds 4"):
        reassembler.feed({"done": True}, b"5")


def test_an_end_within_a_message_is_an_error() -> None:
    reassembler = WsReassembler()
    reassembler.feed({}, b"half")
    with pytest.raises(ProtocolError, match="within a message"):
        reassembler.finish()


def test_the_path_travels_in_the_open_head() -> None:
    assert path_of(opening("/news?since=1")) == "/news?since=1"
    assert path_of({}) == "/"


@pytest.mark.parametrize("path", ["", "news", "/a b", "/\n", "/é", "/" + "x" * PATH_SIZE_MAX])
def test_invalid_paths_are_refused_in_both_directions(path: str) -> None:
    with pytest.raises(UsageError, match="a path is"):
        opening(path)
    with pytest.raises(ProtocolError, match="invalid path"):
        path_of({"path": path})


@pytest.mark.parametrize("path", [None, 1, ["/"], True])
def test_a_path_that_is_no_text_is_refused(path: object) -> None:
    with pytest.raises(ProtocolError, match="invalid path"):
        path_of({"path": path})


def test_nothing_may_come_before_the_acceptance() -> None:
    check_acceptance(acceptance())
    early: list[JsonObject] = [{}, {"open": 1}, {"open": "true"}, {"done": True}]
    for head in early:
        with pytest.raises(ProtocolError, match="before it accepted"):
            check_acceptance(head)
