"""M7: SOCKS5 as a server speaks it, whatever the client sends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import AuthenticationError, DecodeError
from rookery.link.channels.sock import SockAddress
from rookery.mesh.proxy.credentials import ProxyCredentials
from rookery.mesh.proxy.fault import ProxyFault
from rookery.mesh.proxy.socks import (
    STEP_SIZE_MAX,
    SocksCommand,
    SocksNegotiation,
    SocksReply,
    SocksRequest,
    datagram,
    parse_datagram,
    reply,
)

HELLO = b"\x05\x01\x00"
CONNECT_IPV4 = b"\x05\x01\x00\x01\xc0\x00\x02\x01\x01\xbb"
CONNECT_NAME = b"\x05\x01\x00\x03\x0fwww.example.org\x00\x50"
ASSOCIATE_IPV6 = b"\x05\x03\x00\x04" + bytes(15) + b"\x01\x00\x00"


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (CONNECT_IPV4, SocksRequest(SocksCommand.CONNECT, SockAddress("192.0.2.1", 443))),
        (CONNECT_NAME, SocksRequest(SocksCommand.CONNECT, SockAddress("www.example.org", 80))),
        (ASSOCIATE_IPV6, SocksRequest(SocksCommand.UDP_ASSOCIATE, SockAddress("::1", 0))),
    ],
)
@pytest.mark.parametrize("cut", [1, 2, 3, 100])
def test_a_request_is_understood_however_it_is_cut(
    request_: bytes, expected: SocksRequest, cut: int
) -> None:
    negotiation, data = SocksNegotiation(), HELLO + request_
    for at in range(0, len(data), cut):
        assert negotiation.request is None
        negotiation.feed(data[at : at + cut])
    assert negotiation.request == expected
    assert negotiation.take() == b"\x05\x00"
    assert negotiation.take() == b""
    assert negotiation.early == b""


def test_what_is_sent_behind_the_request_is_kept() -> None:
    negotiation = SocksNegotiation()
    negotiation.feed(HELLO + CONNECT_IPV4 + b"GET /")
    assert negotiation.early == b"GET /"


def login(user: bytes, password: bytes) -> bytes:
    return bytes([1, len(user)]) + user + bytes([len(password)]) + password


@pytest.mark.parametrize("cut", [1, 4, 100])
def test_a_password_is_asked_for_where_one_is_set(cut: int) -> None:
    negotiation = SocksNegotiation(ProxyCredentials("rook", "sesame"))
    data = b"\x05\x02\x00\x02" + login(b"rook", b"sesame") + CONNECT_IPV4
    for at in range(0, len(data), cut):
        negotiation.feed(data[at : at + cut])
    assert negotiation.take() == b"\x05\x02\x01\x00"
    assert negotiation.request is not None


@pytest.mark.parametrize(
    "answer",
    [login(b"rook", b""), login(b"", b"sesame"), login(b"rook", b"sesam"), login(b"r", b"sesame")],
)
def test_a_wrong_password_is_refused(answer: bytes) -> None:
    negotiation = SocksNegotiation(ProxyCredentials("rook", "sesame"))
    with pytest.raises(AuthenticationError):
        negotiation.feed(b"\x05\x01\x02" + answer + CONNECT_IPV4)
    assert negotiation.take() == b"\x05\x02\x01\x01"
    assert negotiation.request is None


def test_nobody_gets_past_a_password_by_not_offering_one() -> None:
    negotiation = SocksNegotiation(ProxyCredentials("rook", "sesame"))
    with pytest.raises(AuthenticationError):
        negotiation.feed(HELLO + CONNECT_IPV4)
    assert negotiation.take() == b"\x05\xff"


def test_a_password_is_never_shown() -> None:
    assert "sesame" not in repr(ProxyCredentials("rook", "sesame"))


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (b"\x04\x01\x00\x50", b""),
        (b"GET / HTTP/1.1\r\n", b""),
        (b"\x05\x01\x01", b"\x05\xff"),
        (b"\x05\x00", b"\x05\xff"),
        (HELLO + b"\x04", b"\x05\x00"),
        (HELLO + b"\x05\x01\x00\x02\x00", b"\x05\x00" + reply(SocksReply.NO_SUCH_ADDRESS)),
        (HELLO + b"\x05\x09" + CONNECT_IPV4[2:], b"\x05\x00" + reply(SocksReply.NO_SUCH_COMMAND)),
        (HELLO + b"\x05\x00" + CONNECT_IPV4[2:], b"\x05\x00" + reply(SocksReply.NO_SUCH_COMMAND)),
        (
            HELLO + b"\x05\x01\x00\x03\x02\xff\xfe\x00\x50",
            b"\x05\x00" + reply(SocksReply.NO_SUCH_ADDRESS),
        ),
    ],
)
def test_what_is_no_socks_is_refused_with_the_answer_it_deserves(
    data: bytes, answer: bytes
) -> None:
    negotiation = SocksNegotiation()
    with pytest.raises((DecodeError, AuthenticationError)):
        negotiation.feed(data)
    assert negotiation.take() == answer


def test_what_is_no_password_is_refused() -> None:
    negotiation = SocksNegotiation(ProxyCredentials("rook", "sesame"))
    with pytest.raises(DecodeError):
        negotiation.feed(b"\x05\x01\x02\x05")


@given(st.lists(st.binary(max_size=400), max_size=12), st.booleans())
def test_any_bytes_are_a_request_or_refused_and_never_pile_up(
    chunks: list[bytes], has_password: bool
) -> None:
    negotiation = SocksNegotiation(ProxyCredentials("a", "b") if has_password else None)
    try:
        for chunk in [b"\x05", *chunks]:
            if negotiation.request is not None:
                return
            negotiation.feed(chunk)
            assert negotiation.request or len(negotiation.early) < STEP_SIZE_MAX
    except (DecodeError, AuthenticationError):
        assert negotiation.request is None


@given(st.binary(max_size=600))
def test_any_datagram_is_understood_or_refused(data: bytes) -> None:
    try:
        address, content = parse_datagram(data)
    except DecodeError:
        return
    assert data.endswith(content)
    assert len(address.host) < 256


@given(
    st.ip_addresses().map(str) | st.from_regex(r"[a-z]{1,40}\.[a-z]{2,9}", fullmatch=True),
    st.integers(0, 0xFFFF),
    st.binary(max_size=100),
)
def test_a_datagram_reads_back_as_it_was_written(host: str, port: int, data: bytes) -> None:
    assert parse_datagram(datagram(SockAddress(host, port), data)) == (
        SockAddress(host, port),
        data,
    )


@pytest.mark.parametrize(
    "data",
    [b"", b"\0\0\1\1abcd\0\1x", b"\0\1\0\1abcd\0\1x", b"\0\0\0\2abcd\0\1", b"\0\0\0\3\xffabcd\0\1"],
)
def test_a_fragment_or_a_cut_datagram_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        parse_datagram(data)


def test_a_zone_is_nothing_for_the_wire() -> None:
    assert reply(SocksReply.SUCCEEDED, SockAddress("fe80::1%eth0", 1)) == reply(
        SocksReply.SUCCEEDED, SockAddress("fe80::1", 1)
    )


@pytest.mark.parametrize("fault", list(ProxyFault))
def test_every_fault_has_a_reply(fault: ProxyFault) -> None:
    assert SocksReply.of(fault) is not SocksReply.SUCCEEDED


def test_the_replies_programs_look_at_are_exact() -> None:
    assert SocksReply.of(ProxyFault.REFUSED) is SocksReply.REFUSED
    assert SocksReply.of(ProxyFault.POLICY) is SocksReply.FORBIDDEN
    assert SocksReply.of(ProxyFault.BUSY) is SocksReply.FAILED
