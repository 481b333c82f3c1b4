"""The payloads of echo requests and replies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.mesh.echo import HELD_MAX_US, REQUEST_SIZE_MIN, TOKEN_SIZE, EchoReply, EchoRequest
from rookery.wire.mesh.forward import ROUTE_MAX, ROUTE_MIN, Forward

tokens = st.binary(min_size=TOKEN_SIZE, max_size=TOKEN_SIZE)


def route(count: int) -> tuple[bytes, ...]:
    return tuple(number.to_bytes(8, "big") for number in range(count))


@given(tokens, st.integers(REQUEST_SIZE_MIN, 2000))
def test_a_request_is_read_again_and_has_its_size(token: bytes, size: int) -> None:
    request = EchoRequest(token, size)
    assert EchoRequest.parse(request.serialize()) == request
    assert len(request.serialize()) == size


@given(tokens, st.integers(0, HELD_MAX_US))
def test_a_reply_is_read_again(token: bytes, held_us: int) -> None:
    reply = EchoReply(token, held_us)
    assert EchoReply.parse(reply.serialize()) == reply


@given(st.binary(max_size=2 * REQUEST_SIZE_MIN))
def test_arbitrary_bytes_parse_or_raise_decode_error(payload: bytes) -> None:
    try:
        reply = EchoReply.parse(payload)
    except DecodeError:
        pass
    else:
        assert reply.serialize() == payload
    try:
        request = EchoRequest.parse(payload)
    except DecodeError:
        return
    assert payload.startswith(request.token)


def test_a_request_too_small_for_every_reply_is_refused() -> None:
    with pytest.raises(DecodeError, match=r"^echo request too small$"):
        EchoRequest.parse(bytes(REQUEST_SIZE_MIN - 1))


def test_the_longest_reply_is_as_large_as_the_shortest_request() -> None:
    shortest = Forward(route(ROUTE_MIN), EchoRequest(bytes(TOKEN_SIZE)).serialize())
    longest = Forward(route(ROUTE_MAX), EchoReply(bytes(TOKEN_SIZE)).serialize())
    assert len(longest.body()) == len(shortest.body())
