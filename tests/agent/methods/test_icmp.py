"""ICMP echo: by the letter, and hostile bytes are no reply."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.agent.methods.ping import echo_reply, echo_request, printed_times
from rookery.errors import DecodeError


def test_a_request_is_as_the_standard_draws_it() -> None:
    """RFC 792: type 8, code 0, the one's complement of the one's complement sum."""
    assert echo_request(4, 1, b"ab").hex() == "0800969c000000016162"
    assert echo_request(6, 1, b"ab")[0] == 128


@given(st.sampled_from([4, 6]), st.integers(0, 0xFFFF), st.binary(max_size=64))
def test_an_echoed_request_is_a_reply(family: int, sequence: int, data: bytes) -> None:
    request = echo_request(family, sequence, data)
    reply = bytes([0 if family == 4 else 129]) + request[1:]
    assert echo_reply(family, reply) == (sequence, data)
    if family == 4:
        assert echo_reply(4, b"\x45" + bytes(19) + reply) == (sequence, data)
    with pytest.raises(DecodeError):
        echo_reply(family, request)


@given(st.sampled_from([4, 6]), st.binary(max_size=80))
def test_arbitrary_bytes_are_a_reply_or_raise_decode_error(family: int, packet: bytes) -> None:
    try:
        echo_reply(family, packet)
    except DecodeError:
        return


@pytest.mark.parametrize(
    ("printed", "times"),
    [
        (b"64 bytes from 127.0.0.1: icmp_seq=1 ttl=64 time=0.031 ms\n", [0.031, None]),
        (b"64 bytes from ::1: seq=0 ttl=64 time=0.1 ms\nx: seq=1 ttl=64 time=2 ms", [0.1, 2.0]),
        (b"icmp_seq=9 ttl=64 time=1 ms", [None, None]),
        (b"", [None, None]),
    ],
)
def test_what_ping_programs_print_is_understood(printed: bytes, times: list[float | None]) -> None:
    assert printed_times(printed, 2) == times
