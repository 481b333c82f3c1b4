"""T3: the packets of a chat."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError, UsageError
from rookery.link.channels.chat_message import (
    ACK_STATES,
    NAME_SIZE_MAX,
    TEXT_SIZE_MAX,
    ChatAck,
    ChatJoin,
    ChatProfile,
    ChatText,
    Message,
    compose,
    parse_message,
)
from rookery.link.channels.message_id import format_id
from rookery.wire.link.lob import JsonObject, Packet

ALICE = "jvdoio6kjvf3yqnxfvck43twaibbg4pmb7y3mqnvxafb26rqllwa"

ids = st.binary(min_size=8, max_size=8).map(format_id)
profiles = st.builds(ChatProfile.create, ids, st.text(st.characters(codec="utf-8"), max_size=60))
times = st.none() | st.integers(0, 1 << 40)
messages = st.one_of(
    st.builds(
        ChatText,
        ids,
        st.text(st.characters(codec="utf-8"), max_size=100),
        st.none() | ids,
        times,
        st.sampled_from([None, "active", "composing"]),
    ),
    st.builds(ChatJoin, ids, st.just(ALICE), profiles, st.none() | ids, times),
    st.builds(ChatAck, ids, st.sampled_from(sorted(ACK_STATES))),
)
hostile = st.dictionaries(
    st.sampled_from(["type", "id", "text", "after", "at", "from", "ack", "state"]),
    st.sampled_from(["chat", "join", "ack", "profile", "read", ALICE, "aszkws5hqbamo"])
    | st.none()
    | st.booleans()
    | st.integers(-(1 << 60), 1 << 60)
    | st.text(st.characters(codec="utf-8"), max_size=5)
    | st.lists(st.none()),
)


@given(messages)
def test_every_message_survives_the_wire(message: Message) -> None:
    assert parse_message(Packet.parse(message.packet().serialize())) == message


@given(profiles)
def test_a_profile_is_passed_on_unchanged(profile: ChatProfile) -> None:
    assert ChatProfile.parse(Packet.parse(profile.packet.serialize())) == profile


@given(hostile, st.binary(max_size=20))
def test_arbitrary_heads_parse_or_raise_decode_error(head: JsonObject, body: bytes) -> None:
    for parse in (parse_message, ChatProfile.parse):
        try:
            parse(Packet.of(head, body))
        except DecodeError:
            continue


@given(st.binary(max_size=60))
def test_arbitrary_bytes_parse_or_raise_decode_error(data: bytes) -> None:
    for parse in (parse_message, ChatProfile.parse):
        try:
            parse(Packet.parse(data))
        except DecodeError:
            continue


def test_a_lone_surrogate_is_a_decode_error_not_a_crash() -> None:
    head = b'{"type":"chat","id":"aszkws5hqbamo","text":"\\ud800"}'
    with pytest.raises(DecodeError):
        parse_message(Packet(head))


def test_the_javascript_peers_messages_are_understood() -> None:
    """T7: everything said in the captured flow `chat`."""
    path = Path(__file__).parents[2] / "vectors" / "telehash.json"
    flow = json.loads(path.read_text())["flows_decrypted"]["flows"]["chat"]
    carried = [
        Packet.parse(Packet.parse(bytes.fromhex(line["inner"])).body)
        for line in flow
        if line["json"].get("enc") == "lob"
    ]
    names = {ChatProfile.parse(p).text for p in carried if p.json["type"] == "profile"}
    said = [parse_message(p) for p in carried if p.json["type"] != "profile"]
    assert names == {"Alice", "Bob"}
    assert {m.text for m in said if isinstance(m, ChatText)} == {"hi from bob", "hello from alice"}
    assert {m.profile.text for m in said if isinstance(m, ChatJoin)} == {"Alice", "Bob"}


def test_nonsense_in_optional_fields_is_left_out() -> None:
    head: JsonObject = {"type": "chat", "id": "aszkws5hqbamo", "text": "x"}
    for extra in ({"at": -1}, {"at": 1 << 60}, {"at": "now"}, {"state": "angry"}, {"state": 1}):
        message = parse_message(Packet.of({**head, **extra}))
        assert message == ChatText("aszkws5hqbamo", "x")


@pytest.mark.parametrize(
    "head",
    [
        {"type": "chat", "id": "aszkws5hqbamo"},
        {"type": "chat", "id": "aszkws5hqbamo", "text": 5},
        {"type": "chat", "id": "short", "text": "x"},
        {"type": "chat", "text": "x"},
        {"type": "chat", "id": "aszkws5hqbamo", "text": "x", "after": "short"},
        {"type": "chat", "id": "aszkws5hqbamo", "text": "x" * (TEXT_SIZE_MAX + 1)},
        {"type": "join", "id": "aszkws5hqbamo", "from": "me"},
        {"type": "join", "id": "aszkws5hqbamo", "from": ALICE},
        {"type": "ack", "id": "aszkws5hqbamo", "ack": "burnt"},
        {"type": "connect"},
    ],
)
def test_a_malformed_message_is_refused(head: JsonObject) -> None:
    with pytest.raises(DecodeError):
        parse_message(Packet.of(head))


def test_sizes_are_bounded_in_both_directions() -> None:
    with pytest.raises(DecodeError):
        parse_message(Packet.of({"type": "chat", "id": "aszkws5hqbamo", "text": ""}, bytes(70000)))
    profile: JsonObject = {"type": "profile", "id": "aszkws5hqbamo", "text": "x"}
    for packet in (
        Packet.of({**profile, "text": "x" * (NAME_SIZE_MAX + 1)}),
        Packet.of(profile, bytes(70000)),
    ):
        with pytest.raises(DecodeError):
            ChatProfile.parse(packet)
    with pytest.raises(UsageError, match="257 bytes"):
        ChatProfile.create("aszkws5hqbamo", "x" * (NAME_SIZE_MAX + 1))
    with pytest.raises(UsageError, match="allowed"):
        compose("aszkws5hqbamo", "ж" * TEXT_SIZE_MAX, None, 0)
    with pytest.raises(UsageError, match="escape"):
        compose("aszkws5hqbamo", "\x01" * TEXT_SIZE_MAX, None, 0)
    with pytest.raises(UsageError, match="Unicode"):
        compose("aszkws5hqbamo", "\ud800", None, 0)


def test_a_text_that_begins_with_me_is_an_action() -> None:
    assert ChatText("aszkws5hqbamo", "/me waves").is_action
    assert not ChatText("aszkws5hqbamo", "/merry").is_action
