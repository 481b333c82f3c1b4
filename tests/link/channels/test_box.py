"""T3: the heads of `outbox`, `inbox` and `boxes`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError, ProtocolError, UsageError
from rookery.link.channels.box import (
    MESSAGE_SIZE_MAX,
    BoxMessageArrived,
    ClearBox,
    Command,
    CommandReader,
    ForgetBoxMessage,
    InboxOpening,
    OutboxOpening,
    box_id,
    clear_head,
    forget_head,
    message_id,
    parse_box_id,
    parse_boxes,
    pieces,
    serialize_boxes,
)
from rookery.link.channels.message_id import digest
from rookery.wire import base32
from rookery.wire.link.lob import JsonObject

ALICE = "jvdoio6kjvf3yqnxfvck43twaibbg4pmb7y3mqnvxafb26rqllwa"
BOB = "echmb6eke2f6z2mqdwifrt6i6hkkfua7hiisgrms6pwttd6jubiq"

box_ids = st.binary(min_size=8, max_size=8)


def test_ids_are_made_as_the_draft_says() -> None:
    box = box_id(ALICE, BOB)
    assert box == digest(ALICE, base32.decode(BOB)) != box_id(BOB, ALICE)
    assert len(message_id(box, b"hello")) == 8
    assert message_id(box, b"hello") != message_id(box_id(BOB, ALICE), b"hello")


@given(st.binary(min_size=1, max_size=300), st.integers(1, 50), st.none() | st.integers(1, 1 << 40))
def test_a_message_survives_being_cut(message: bytes, size: int, lifetime_s: int | None) -> None:
    reader = CommandReader()
    commands: list[Command] = []
    for piece in pieces(message, size, lifetime_s):
        assert len(piece.body) <= size
        commands += reader.feed(piece.head, piece.body)
    assert commands == [BoxMessageArrived(message, lifetime_s)]


@given(st.lists(box_ids, max_size=300))
def test_lists_of_boxes_survive_the_wire(boxes: list[bytes]) -> None:
    bodies = serialize_boxes(boxes)
    assert bodies
    assert [box for body in bodies for box in parse_boxes(body)] == boxes


@given(st.binary(max_size=1200))
def test_arbitrary_bytes_are_a_list_or_a_decode_error(body: bytes) -> None:
    try:
        assert b"".join(parse_boxes(body)) == body
    except DecodeError:
        assert len(body) % 8 or len(body) > 960


@given(
    st.lists(
        st.tuples(
            st.dictionaries(
                st.sampled_from(["done", "x", "id", "clear", "to", "box"]),
                st.none() | st.booleans() | st.integers() | st.text(max_size=17),
            ),
            st.binary(max_size=40),
        ),
        max_size=6,
    )
)
def test_arbitrary_packets_are_commands_or_errors(packets: list[tuple[JsonObject, bytes]]) -> None:
    reader = CommandReader(size_max=100)
    for head, body in packets:
        try:
            for command in reader.feed(head, body):
                assert not isinstance(command, BoxMessageArrived) or 0 < len(command.message) <= 100
        except (DecodeError, ProtocolError):
            return
        for parse in (OutboxOpening.parse, InboxOpening.parse):
            with pytest.raises(DecodeError):
                parse(head)


def test_openings_survive_the_wire() -> None:
    assert OutboxOpening.parse(OutboxOpening(BOB).head()) == OutboxOpening(BOB)
    assert InboxOpening.parse(InboxOpening(b"8 bytes!").head()) == InboxOpening(b"8 bytes!")
    hostile: list[JsonObject] = [{}, {"to": "me"}, {"to": 5}]
    for wrong in hostile:
        with pytest.raises(DecodeError):
            OutboxOpening.parse(wrong)


def test_forgetting_and_clearing() -> None:
    reader = CommandReader()
    assert reader.feed(forget_head(b"8 bytes!"), b"") == [ForgetBoxMessage(b"8 bytes!")]
    assert reader.feed(clear_head(), b"") == [ClearBox()]
    assert reader.feed({"clear": True, "done": True}, b"new") == [
        ClearBox(),
        BoxMessageArrived(b"new", None),
    ]
    assert reader.feed({"done": True}, b"") == []
    assert reader.feed({"id": "no id beside a body"}, b"x") == []
    with pytest.raises(DecodeError):
        reader.feed({"id": "0123"}, b"")


def test_bounds_hold_on_both_sides() -> None:
    with pytest.raises(UsageError):
        list(pieces(b"", 10))
    with pytest.raises(UsageError):
        list(pieces(bytes(MESSAGE_SIZE_MAX + 1), 1000))
    with pytest.raises(UsageError):
        list(pieces(b"x", 10, 0))
    reader = CommandReader(size_max=10)
    reader.feed({}, bytes(10))
    with pytest.raises(ProtocolError):
        reader.feed({}, b"x")
    with pytest.raises(DecodeError):
        CommandReader().feed({"done": True, "x": 0}, b"x")


def test_ids_that_people_type() -> None:
    assert parse_box_id("851042800434dd49").hex() == "851042800434dd49"
    with pytest.raises(UsageError):
        parse_box_id("851042800434DD4")
