"""WebSocket framing without sockets."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.runtime.endpoint.gates.framing import PACKET_SIZE_MAX
from rookery.runtime.endpoint.gates.websocket import AcceptedWebSocket, DialledWebSocket, split_url
from rookery.wire.link.lob import JsonObject

GET = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
UPGRADE = (
    b"GET /door HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def nothing() -> JsonObject | None:
    return None


def pair() -> tuple[DialledWebSocket, AcceptedWebSocket]:
    dialled = DialledWebSocket(urlsplit("http://here:8080/door"))
    accepted = AcceptedWebSocket("/door", nothing)
    assert accepted.feed(dialled.control()) == []
    assert dialled.feed(accepted.control()) == []
    assert dialled.ready
    assert accepted.ready
    return dialled, accepted


def masked(opcode: int, payload: bytes, size: int | None = None) -> bytes:
    """One client frame under a zero mask, or only its beginning."""
    size = len(payload) if size is None else size
    length = bytes([0x80 | size]) if size < 126 else b"\xff" + size.to_bytes(8, "big")
    return bytes([0x80 | opcode]) + length + bytes(4) + payload


@given(st.lists(st.binary(min_size=1, max_size=2000), max_size=4), st.integers(1, 500))
def test_packets_pass_both_ways_however_they_are_cut(sent: list[bytes], step: int) -> None:
    dialled, accepted = pair()
    for here, there in ((dialled, accepted), (accepted, dialled)):
        stream = b"".join(b"".join(here.encode(packet)) for packet in sent)
        pieces = [stream[at : at + step] for at in range(0, len(stream), step)]
        assert [packet for piece in pieces for packet in there.feed(piece)] == sent


def test_a_packet_right_behind_the_request_is_not_lost() -> None:
    accepted = AcceptedWebSocket("/door", nothing)
    assert accepted.feed(UPGRADE + masked(2, b"packet")) == [b"packet"]


def test_a_ping_is_answered_and_a_close_ends_it() -> None:
    _, accepted = pair()
    assert accepted.feed(masked(9, b"ping")) == []
    assert accepted.control() == b"\x8a\x04ping"
    assert accepted.feed(masked(8, b"")) == []
    assert accepted.finished


@pytest.mark.parametrize(
    "data",
    [
        masked(1, b"text"),
        masked(2, bytes(PACKET_SIZE_MAX + 1)),
        masked(9, b"", 126),
        masked(3, b"reserved"),
        b"\x82\x01a",  # a client must mask
        b"\xff" * 20,
    ],
    ids=["text", "overlong", "long ping", "reserved", "unmasked", "noise"],
)
def test_what_is_no_binary_message_is_refused(data: bytes) -> None:
    _, accepted = pair()
    with pytest.raises(DecodeError):
        accepted.feed(data)


def test_a_giant_message_is_refused_before_it_is_complete() -> None:
    _, accepted = pair()
    accepted.feed(masked(2, bytes(PACKET_SIZE_MAX), 1 << 40))
    with pytest.raises(DecodeError):
        accepted.feed(b"x")


def test_a_stranger_is_told_nothing() -> None:
    """T6: the same answer for everything while discovery is off."""
    answers = set()
    for request in (GET, GET.replace(b"/ ", b"/x "), UPGRADE.replace(b"/door", b"/")):
        accepted = AcceptedWebSocket("/door", nothing)
        assert accepted.feed(request) == []
        assert accepted.finished
        answers.add(accepted.control())
    (answer,) = answers
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"rookery" not in answer.lower()


def test_the_link_is_shown_at_the_root_while_discovery_is_on() -> None:
    """T6."""
    accepted = AcceptedWebSocket("/door", lambda: {"hashname": "abc"})
    accepted.feed(GET)
    answer = accepted.control()
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b'\r\n\r\n{"hashname":"abc"}')
    elsewhere = AcceptedWebSocket("/door", lambda: {"hashname": "abc"})
    elsewhere.feed(GET.replace(b"/ ", b"/x "))
    assert elsewhere.control().startswith(b"HTTP/1.1 404 ")


def test_an_endless_request_is_refused() -> None:
    accepted = AcceptedWebSocket("/", nothing)
    accepted.feed(b"GET / HTTP/1.1\r\nX-Long: " + b"y" * 8000)
    with pytest.raises(DecodeError):
        accepted.feed(b"y" * 1000)


def test_a_refused_upgrade_is_an_error_for_whoever_dialled() -> None:
    dialled = DialledWebSocket(urlsplit("http://here/"))
    dialled.control()
    with pytest.raises(DecodeError):
        dialled.feed(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_packets_or_a_decode_error(data: bytes) -> None:
    dialled, accepted = pair()
    fresh = AcceptedWebSocket("/", nothing)
    half = AcceptedWebSocket("/door", nothing)
    half.feed(UPGRADE[:60])
    for socket, bytes_in in (
        (dialled, data),
        (accepted, data),
        (fresh, b"GET " + data),
        (half, data),
    ):
        try:
            socket.feed(bytes_in)
        except DecodeError:
            continue


@given(st.integers(0, len(UPGRADE) - 1), st.integers(0, 255))
def test_a_damaged_request_is_answered_or_a_decode_error(at: int, value: int) -> None:
    accepted = AcceptedWebSocket("/door", nothing)
    try:
        accepted.feed(UPGRADE[:at] + bytes([value]) + UPGRADE[at + 1 :])
    except DecodeError:
        return


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("http://example.org", "example.org", 80),
        ("https://example.org/x?y", "example.org", 443),
        ("http://127.0.0.1:42424/", "127.0.0.1", 42424),
        ("http://[::1]:42424/", "::1", 42424),
    ],
)
def test_where_a_url_is_dialled(url: str, host: str, port: int) -> None:
    assert split_url(url)[1:] == (host, port)


@pytest.mark.parametrize("url", ["ftp://x/", "http:///x", "http://x:y/", "http://[::1", ""])
def test_a_url_that_cannot_be_dialled_is_refused(url: str) -> None:
    with pytest.raises(DecodeError):
        split_url(url)


@given(st.text(max_size=60))
def test_any_text_behind_the_scheme_is_dialled_or_refused(text: str) -> None:
    try:
        DialledWebSocket(split_url("http://" + text)[0])
    except DecodeError:
        return
