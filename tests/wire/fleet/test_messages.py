"""F9, F10: what hub, servers, routers and clients tell each other."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.fleet import messages, tags
from rookery.wire.fleet.messages import decode, encode
from rookery.wire.fleet.tlv import Tlv

NAME = "a" * 52
SERVER = messages.ServerAddress(NAME, "192.0.2.1:7000", bytes(294), bytes(32))
EXAMPLES: list[tuple[int, messages.Message]] = [
    (tags.ERROR, messages.FaultMessage(messages.FaultCode.NO_WISH, "nobody waits")),
    (tags.ASK, messages.AskMessage(2**64 - 1)),
    (tags.DIRECT, messages.DirectMessage(1, "seat", SERVER, "ticket")),
    (
        tags.RESERVE,
        messages.ReserveMessage(
            "seat", bytes(6), NAME, "ann", bytes(32), bytes(32), 60, b"by what", ["192.0.2.9"]
        ),
    ),
    (tags.RELEASE, messages.ReleaseMessage("seat", "not allowed any more")),
    (tags.HOLD, messages.HoldMessage("seat", bytes(6), NAME, b"by what")),
    (tags.LET_GO, messages.LetGoMessage("seat")),
    (tags.RENEW, messages.RenewMessage(7)),
    (tags.RENEWED, messages.RenewedMessage(7)),
    (tags.RESERVED, messages.ReservedMessage("seat")),
    (tags.REFUSED, messages.RefusedMessage("seat", "all seats are taken")),
    (tags.ARRIVED, messages.ArrivedMessage("seat")),
    (tags.ABANDONED, messages.AbandonedMessage("seat", "the router left")),
    (tags.ARRIVE, messages.ArriveMessage("seat", "ticket")),
    (tags.ATTEND, messages.AttendMessage("seat", "ticket")),
    (tags.WELCOME, messages.WelcomeMessage("seat", bytes(6), NAME, "again", 60)),
]
EVERY_TAG = sorted({tag for tag, _ in EXAMPLES})


@pytest.mark.parametrize(("tag", "message"), EXAMPLES, ids=lambda each: type(each).__name__)
def test_every_message_comes_back_as_it_went(tag: int, message: messages.Message) -> None:
    tlv = encode(message)
    assert tlv.tag == tag
    assert decode(tlv) == message
    assert set(msgspec.msgpack.decode(tlv.value)) == set(message.__struct_fields__)


def test_tickets_do_not_show() -> None:
    """They are as good as a password for as long as they last."""
    for _, message in EXAMPLES:
        assert "ticket" not in repr(message).replace("ticket_hash", "")
        assert "again" not in repr(message)


@given(st.sampled_from(EVERY_TAG), st.binary(max_size=200))
def test_arbitrary_bytes_decode_or_raise_decode_error(tag: int, value: bytes) -> None:
    try:
        message = decode(Tlv(tag, value))
    except DecodeError:
        return
    assert decode(encode(message)) == message


def test_what_older_hubs_say_is_understood() -> None:
    """They know of no authority and give no reason."""
    old = {"seat": "seat", "mac": bytes(6), "router": NAME, "client": "ann", "seconds": 60}
    old |= {"router_ticket_hash": bytes(32), "client_ticket_hash": bytes(32)}
    reserve = decode(Tlv(tags.RESERVE, msgspec.msgpack.encode(old)))
    assert isinstance(reserve, messages.ReserveMessage)
    assert reserve.authority == b""
    release = decode(Tlv(tags.RELEASE, msgspec.msgpack.encode({"seat": "seat"})))
    assert release == messages.ReleaseMessage("seat")


Plain = st.none() | st.booleans() | st.integers(-5, 2**64 - 1) | st.text(max_size=60)


@given(st.sampled_from(EXAMPLES), st.data())
def test_a_field_of_another_kind_decodes_or_raises_decode_error(
    example: tuple[int, messages.Message], data: st.DataObject
) -> None:
    tag, message = example
    fields = msgspec.to_builtins(message, builtin_types=(bytes,))
    name = data.draw(st.sampled_from(sorted(fields)))
    fields[name] = data.draw(Plain | st.binary(max_size=300) | st.just({"deep": [[[]]]}))
    try:
        decoded = decode(Tlv(tag, msgspec.msgpack.encode(fields)))
    except DecodeError:
        return
    assert getattr(decoded, name) == fields[name]


@pytest.mark.parametrize(
    ("tag", "fields"),
    [
        (tags.RELEASE, {"seat": "s" * 33}),
        (tags.RELEASE, {"seat": ""}),
        (tags.RELEASE, {}),
        (tags.ARRIVE, {"seat": "s", "ticket": "t" * 65}),
        (tags.REFUSED, {"seat": "s", "reason": "r" * 513}),
        (tags.ASK, {"wish": -1}),
        (tags.ASK, {"wish": "1"}),
        (tags.WELCOME, {"seat": "s", "mac": bytes(5), "router": NAME}),
        (tags.WELCOME, {"seat": "s", "mac": bytes(6), "router": NAME[1:]}),
    ],
)
def test_a_value_out_of_bounds_is_refused(tag: int, fields: dict[str, object]) -> None:
    with pytest.raises(DecodeError):
        decode(Tlv(tag, msgspec.msgpack.encode(fields)))


@pytest.mark.parametrize("seconds", [0, -1, 3601])
def test_a_seat_is_kept_for_some_seconds_up_to_an_hour(seconds: int) -> None:
    reserve = messages.ReserveMessage("s", bytes(6), NAME, "ann", bytes(32), bytes(32), seconds)
    with pytest.raises(DecodeError):
        decode(encode(reserve))


def test_fields_of_a_newer_version_are_passed_over() -> None:
    value = msgspec.msgpack.encode({"seat": "s", "colour": "red"})
    assert decode(Tlv(tags.RELEASE, value)) == messages.ReleaseMessage("s")


@pytest.mark.parametrize("tag", [0, tags.KEY, tags.SEALED, tags.RPC, tags.CALL, tags.TELEMETRY])
def test_other_tags_are_not_for_here(tag: int) -> None:
    with pytest.raises(DecodeError):
        decode(Tlv(tag, msgspec.msgpack.encode({})))


def test_text_that_is_not_unicode_is_refused() -> None:
    with pytest.raises(DecodeError):
        decode(Tlv(tags.RELEASE, b"\x81\xa4seat\xa1\xff"))
