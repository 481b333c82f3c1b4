"""The FORWARD frame and the path error: round trips, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError, ProtocolError, RemoteError
from rookery.wire.link.frame_types import FORWARD
from rookery.wire.mesh.forward import (
    HOP_LIMIT_MAX,
    PATH_ERROR_SIZE_MAX,
    QUOTE_SIZE_MAX,
    REPAIRS_MAX,
    ROUTE_MAX,
    ROUTE_MIN,
    DatagramClass,
    Forward,
    ForwardKind,
    PathError,
    PathErrorReason,
)
from rookery.wire.mesh.node_id import NODE_ID_SIZE

node_ids = st.binary(min_size=NODE_ID_SIZE, max_size=NODE_ID_SIZE)


@st.composite
def forwards(draw: st.DrawFn) -> Forward:
    route = draw(st.lists(node_ids, min_size=ROUTE_MIN, max_size=ROUTE_MAX, unique=True))
    cursor = draw(st.integers(1, len(route) - 1))
    return Forward(
        tuple(route),
        draw(st.binary(max_size=40)),
        draw(st.sampled_from(ForwardKind)),
        draw(st.sampled_from(DatagramClass)),
        draw(st.integers(1, ROUTE_MAX - cursor)),
        cursor,
        draw(st.integers(0, REPAIRS_MAX)),
        draw(st.booleans()),
    )


def node(number: int) -> bytes:
    return number.to_bytes(NODE_ID_SIZE, "big")


FRAME = Forward((node(1), node(2), node(3)), b"payload", cursor=2, hop_limit=15)


def with_byte(at: int, value: int) -> bytes:
    head = bytearray(FRAME.head())
    head[at] = value
    return bytes(head)


@given(forwards())
def test_what_is_written_is_read_again(frame: Forward) -> None:
    assert Forward.parse(frame.head(), frame.body()) == frame


likely_heads = st.builds(
    lambda small, repairs: bytes((FORWARD, *small, repairs)),
    st.lists(st.integers(0, 40), min_size=4, max_size=4),
    st.integers(0, REPAIRS_MAX + 1),
)


@given(st.binary(max_size=8) | likely_heads, st.binary(max_size=300))
def test_arbitrary_bytes_parse_or_raise_a_remote_error(head: bytes, body: bytes) -> None:
    try:
        frame = Forward.parse(head, body)
    except RemoteError:
        return
    assert (frame.head(), frame.body()) == (head, body)


def test_the_layout_is_the_documented_one() -> None:
    frame = Forward(
        (node(1), node(2)),
        b"xyz",
        ForwardKind.ECHO_REPLY,
        DatagramClass.RELIABLE_OK,
        hop_limit=9,
        repairs=2,
        is_marked=True,
    )
    assert frame.head() == bytes((1, 0b00_1_010_10, 9, 1, 2, 2))
    assert frame.body() == node(1) + node(2) + b"xyz"


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (b"", "not a forward head"),
        (FRAME.head()[:5], "not a forward head"),
        (FRAME.head() + b"\0", "not a forward head"),
        (with_byte(0, 2), "not a forward head"),
        (with_byte(1, 1 << 6), "unknown forward flags"),
        (with_byte(1, 1 << 7), "unknown forward flags"),
        (with_byte(1, 3), "unknown forward flags"),
        (with_byte(1, 4 << 2), "unknown forward flags"),
        (with_byte(2, 0), "impossible hop limit"),
        (with_byte(2, HOP_LIMIT_MAX), "impossible hop limit"),  # one hop is spent already
        (with_byte(2, 255), "impossible hop limit"),
        (with_byte(3, 0), "cursor outside the route"),
        (with_byte(3, 3), "cursor outside the route"),
        (with_byte(3, 255), "cursor outside the route"),
        (with_byte(4, 0), "route too short or too long"),
        (with_byte(4, 1), "route too short or too long"),
        (with_byte(4, 18), "route too short or too long"),
        (with_byte(4, 17), "route longer than the body"),
        (with_byte(5, 3), "too many repairs"),
    ],
)
def test_a_hostile_head_is_refused_with_its_reason(head: bytes, reason: str) -> None:
    with pytest.raises((DecodeError, ProtocolError), match=f"^{reason}$"):
        Forward.parse(head, FRAME.body())


def test_a_route_that_names_a_node_twice_is_refused() -> None:
    body = node(1) + node(2) + node(1) + b"payload"
    with pytest.raises(ProtocolError, match=r"^node twice in a route$"):
        Forward.parse(FRAME.head(), body)


@given(st.sampled_from(PathErrorReason), node_ids, st.binary(max_size=QUOTE_SIZE_MAX))
def test_a_path_error_is_read_again(reason: PathErrorReason, failed: bytes, quote: bytes) -> None:
    error = PathError(reason, failed, quote)
    assert PathError.parse(error.serialize()) == error
    assert len(error.serialize()) <= PATH_ERROR_SIZE_MAX


@given(st.binary(max_size=PATH_ERROR_SIZE_MAX + 2))
def test_an_arbitrary_path_error_parses_or_raises_decode_error(payload: bytes) -> None:
    try:
        error = PathError.parse(payload)
    except DecodeError:
        return
    assert error.serialize() == payload


@pytest.mark.parametrize("reason", [0, 4, 255])
def test_a_path_error_without_a_known_reason_is_refused(reason: int) -> None:
    with pytest.raises(DecodeError, match=r"^unknown reason of a path error$"):
        PathError.parse(bytes((reason,)) + node(1))
