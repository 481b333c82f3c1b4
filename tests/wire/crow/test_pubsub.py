"""C7, C8: publish and subscribe against the captures of the public broker."""

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError, UsageError
from rookery.wire.crow import pubsub
from rookery.wire.crow.message import Consume, Publish
from rookery.wire.crow.node import NodePacket
from rookery.wire.crow.packet import LEGACY_PUBSUB, NODE
from rookery.wire.crow.pubsub import (
    BROKER_NODE,
    CONTROL_THEME,
    LATEST_MAX,
    NO_ANSWER,
    THEME_SIZE_MAX,
    LegacyOperation,
    Operation,
    PubSubQuery,
    PubSubRequest,
    Subscribe,
    SubscribeLatest,
    Unsubscribe,
    parse_legacy,
)
from tests.wire.crow_captures import VECTORS, Sequence


class Meaning(msgspec.Struct, forbid_unknown_fields=True):
    """An operation, as the capture's own decoder saw it."""

    op: str
    theme: str
    rqos: int = 0
    rackquant: int = 0
    datsize: int = 0
    data_hex: str = ""
    reply_theme: str = ""
    updates: int = 0
    latest: int = 0

    @property
    def operation(self) -> Operation:
        theme, data = self.theme.encode(), bytes.fromhex(self.data_hex)
        quality = (self.rqos, self.rackquant)
        match self.op:
            case "Publish":
                return Publish(theme, data)
            case "Consume":
                return Consume(theme, data)
            case "Subscribe":
                return Subscribe(theme, *quality)
            case "Unsubscribe":
                return Unsubscribe(theme, *quality)
            case "Subscribe_v2":
                return SubscribeLatest(theme, *quality, self.latest, self.updates == 1)
            case _:
                assert self.op == "Request"
                return PubSubRequest(theme, self.reply_theme.encode(), data, *quality)


themes = st.binary(max_size=THEME_SIZE_MAX)
datas = st.binary(max_size=80)
quality = (st.integers(0, 2), st.integers(0, 0xFFFF))
legacy_operations: st.SearchStrategy[LegacyOperation] = st.one_of(
    st.builds(Publish, themes, datas),
    st.builds(Consume, themes, datas),
    st.builds(Subscribe, themes, *quality),
)
operations: st.SearchStrategy[Operation] = st.one_of(
    legacy_operations,
    st.builds(Unsubscribe, themes, *quality),
    st.builds(SubscribeLatest, themes, *quality, st.integers(0, LATEST_MAX), st.booleans()),
    st.builds(PubSubRequest, themes, themes, datas, *quality),
)


def captured() -> list[tuple[bytes, Meaning]]:
    found = []
    for sequence in VECTORS.sequences.values():
        for step in sequence.steps:
            _, is_pubsub, meaning = step.meaning.partition(", pubsub ")
            if is_pubsub:
                body = NodePacket.parse(bytes.fromhex(step.decoded.data)).data
                found.append((body, msgspec.json.decode(meaning, type=Meaning)))
    return found


@pytest.mark.parametrize(("body", "meaning"), captured())
def test_every_captured_operation_is_read_and_written_again(body: bytes, meaning: Meaning) -> None:
    """C7, C8"""
    operation = pubsub.parse(body)
    assert operation == meaning.operation
    assert operation.serialize() == body


def test_the_captures_hold_every_operation() -> None:
    seen = {type(pubsub.parse(body)) for body, _ in captured()}
    assert seen == set(Operation.__args__)


def test_no_packet_of_the_broker_is_left_out() -> None:
    """C8: what is captured to or from node 3 is an operation, or a chunk of one."""
    chunked = b""
    for sequence in VECTORS.sequences.values():
        for step in sequence.steps:
            if step.decoded.type == NODE and not step.decoded.ack:
                packet = NodePacket.parse(bytes.fromhex(step.decoded.data))
                if packet.chunk_id is not None:
                    chunked += packet.data
                elif BROKER_NODE in (packet.sid, packet.rid):
                    pubsub.parse(packet.data)
    assert pubsub.parse(chunked) == Consume(b"big", bytes(i % 251 for i in range(1300)))


def test_a_request_reaches_its_service_as_captured() -> None:
    """C7"""
    bodies = [
        NodePacket.parse(bytes.fromhex(step.decoded.data)).data
        for step in VECTORS.sequences["request_ctrans"].steps
        if step.decoded.type == NODE and not step.decoded.ack
    ]
    _, request, consume = (pubsub.parse(body) for body in bodies)
    assert isinstance(request, PubSubRequest)
    assert isinstance(consume, Consume)
    query = PubSubQuery.parse(consume.data)
    assert query == PubSubQuery(request.reply_theme, request.data)
    assert query.serialize() == consume.data


def legacy_steps(sequence: Sequence) -> list[bytes]:
    return [
        bytes.fromhex(step.decoded.data)
        for step in sequence.steps
        if step.decoded.type == LEGACY_PUBSUB and not step.decoded.ack
    ]


def test_the_legacy_conversation_is_read_and_written_again() -> None:
    """C7, C8: of a broker built for it, and of the programs of 2019."""
    wanted: list[LegacyOperation] = [
        Subscribe(b"alpha", 1, 100),
        Publish(b"alpha", b"hello"),
        Consume(b"alpha", b"hello"),
    ]
    bodies = legacy_steps(VECTORS.sequences["legacy_pubsub_type4"])
    assert [parse_legacy(body) for body in bodies] == wanted
    assert [operation.serialize_legacy() for operation in wanted] == bodies
    bodies = legacy_steps(VECTORS.g1_era_2019_05.sequences["g1_pubsub"])
    assert [operation.serialize_legacy() for operation in wanted[:2]] == bodies


@given(operations)
def test_round_trip(operation: Operation) -> None:
    assert pubsub.parse(operation.serialize()) == operation


@given(legacy_operations)
def test_legacy_round_trip(operation: LegacyOperation) -> None:
    assert parse_legacy(operation.serialize_legacy()) == operation


@given(themes, datas)
def test_query_round_trip(reply_theme: bytes, data: bytes) -> None:
    assert PubSubQuery.parse(PubSubQuery(reply_theme, data).serialize()) == PubSubQuery(
        reply_theme, data
    )


hostile_bytes = st.binary(max_size=40) | st.builds(
    lambda operation, rest: bytes([operation]) + rest, st.integers(0, 6), st.binary(max_size=20)
)


@given(hostile_bytes)
def test_arbitrary_bytes_parse_or_raise_decode_error(data: bytes) -> None:
    with suppress(DecodeError):
        assert pubsub.parse(data).serialize() == data
    with suppress(DecodeError):
        assert parse_legacy(data).serialize_legacy() == data
    with suppress(DecodeError):
        assert PubSubQuery.parse(data).serialize() == data


@given(operations, st.integers(0, 15), st.integers(0, 255))
def test_sizes_that_lie_show_nothing_that_was_not_sent(
    operation: Operation, at: int, byte: int
) -> None:
    """C7: the public broker publishes its own memory instead."""
    data = bytearray(operation.serialize())
    if at < len(data):
        data[at] = byte
    with suppress(DecodeError):
        assert pubsub.parse(bytes(data)).serialize() == data


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x06",
        b"\xff" * 12,
        b"\x00",
        b"\x00\x05\x05",
        Publish(b"alpha", b"msg").serialize()[:-1],
        Publish(b"alpha", b"msg").serialize() + b"x",
        b"\x02\xff\xff\xffalpha",
        Subscribe(b"alpha", 1, 100).serialize()[:4],
        Subscribe(b"alpha", 1, 100).serialize()[:-1],
        b"\x01\x03\x64\x00\x01a",  # quality 3
        b"\x05\x03\x64\x00\x01a",
        b"\x04\x03\x64\x00\x01\x00\x00\x00\x00a",
        SubscribeLatest(b"alpha", 1, 100, 2).serialize()[:8],
        SubscribeLatest(b"alpha", 1, 100, 2).serialize() + b"x",
        PubSubRequest(b"a", b"b", b"c", 0, 0).serialize()[:7],
        PubSubRequest(b"a", b"b", b"c", 0, 0).serialize()[:-1],
        b"\x03\x03\x00\x00\x00\x00\x00\x00",
    ],
)
def test_what_is_no_operation_is_refused(body: bytes) -> None:
    with pytest.raises(DecodeError):
        pubsub.parse(body)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x03\x01",  # the service answer, which nobody ever sent
        b"\x00\x05\x01\x64",
        b"\x00\x05\x01\x64\x00alph",
        b"\x00\x05\x03\x64\x00alpha",
        b"\x01\x05",
        b"\x02\x05\x05\x00alphahell",
    ],
)
def test_what_is_no_legacy_operation_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        parse_legacy(data)


@pytest.mark.parametrize("data", [b"", b"\x01", b"\xffshort"])
def test_what_is_no_query_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        PubSubQuery.parse(data)


def test_no_answer_is_a_theme_like_any_other_on_the_wire() -> None:
    request = PubSubRequest(CONTROL_THEME, NO_ANSWER, b"themes", 0, 0)
    assert pubsub.parse(request.serialize()) == request


long_theme = bytes(THEME_SIZE_MAX + 1)


@pytest.mark.parametrize(
    "operation",
    [
        Publish(long_theme, b""),
        Consume(b"", bytes(0x10000)),
        Subscribe(long_theme, 0, 0),
        Subscribe(b"a", 3, 0),
        Subscribe(b"a", -1, 0),
        Unsubscribe(b"a", 0, 0x10000),
        SubscribeLatest(b"a", 3, 0, 1),
        SubscribeLatest(b"a", 0, 0, LATEST_MAX + 1),
        PubSubRequest(b"a", long_theme, b"", 0, 0),
        PubSubRequest(b"a", b"b", b"", 3, 0),
        PubSubQuery(long_theme, b""),
    ],
)
def test_what_no_field_can_hold_is_not_sent(operation: Operation | PubSubQuery) -> None:
    with pytest.raises(UsageError):
        operation.serialize()


@pytest.mark.parametrize(
    "operation",
    [
        Publish(long_theme, b""),
        Consume(b"", bytes(0x10000)),
        Subscribe(b"a", 3, 0),
        Subscribe(long_theme, 0, 0),
    ],
)
def test_what_no_legacy_field_can_hold_is_not_sent(operation: LegacyOperation) -> None:
    with pytest.raises(UsageError):
        operation.serialize_legacy()
