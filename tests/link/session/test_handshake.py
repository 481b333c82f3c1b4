"""What an endpoint says of itself."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.identity.identity import Identity
from rookery.link.session.handshake import AT_MAX, Handshake, parse_csid
from rookery.wire import base32
from rookery.wire.link.lob import JsonObject, Packet

IDENTITY = Identity.generate((0x3A, 0x40), Random(1).randbytes)
OURS = Handshake(0x3A, IDENTITY.keys[0x3A], IDENTITY.intermediates(0x3A), 5)
DIGEST = base32.encode(bytes(32))


def inner(head: JsonObject, attached: JsonObject | None = None, key: bytes = b"key") -> bytes:
    return Packet.of(head, Packet.of(attached or {}, key).serialize()).serialize()


def test_a_handshake_names_its_sender() -> None:
    """T1."""
    assert Handshake.parse_inner(0x3A, OURS.inner()).hashname == IDENTITY.hashname
    assert OURS.csids == {0x3A, 0x40}


@given(
    at=st.integers(1, AT_MAX),
    key=st.binary(min_size=1, max_size=300),
    digests=st.dictionaries(
        st.integers(1, 255).filter(lambda csid: csid != 0x3A),
        st.binary(min_size=32, max_size=32),
        max_size=8,
    ),
)
def test_round_trip(at: int, key: bytes, digests: dict[int, bytes]) -> None:
    handshake = Handshake(0x3A, key, digests, at)
    assert Handshake.parse_inner(0x3A, handshake.inner()) == handshake
    packet = Packet.parse(handshake.unencrypted())
    assert Handshake.parse_unencrypted(packet) == handshake


def test_an_introduction_needs_no_at() -> None:
    """T4: the JavaScript peer sends none."""
    handshake = Handshake(0x3A, b"key", {})
    assert Handshake.parse_unencrypted(Packet.parse(handshake.unencrypted())) == handshake


def test_the_javascript_peers_null_for_the_active_set_is_ignored() -> None:
    """T7."""
    parsed = Handshake.parse_inner(0x3A, inner({"at": 7}, {"3a": None, "2a": DIGEST, "1a": None}))
    assert parsed.intermediates == {0x2A: bytes(32)}
    own_listed = Handshake.parse_inner(0x3A, inner({"at": 7}, {"3a": DIGEST}))
    assert own_listed.intermediates == {}


@pytest.mark.parametrize(
    "data",
    [
        inner({"type": "link"}),
        inner({"type": "jwt", "at": 1}),
        inner({"type": "link", "at": 0}),
        inner({"type": "link", "at": -3}),
        inner({"type": "link", "at": True}),
        inner({"type": "link", "at": "1"}),
        inner({"type": "link", "at": 1.5}),
        inner({"type": "link", "at": AT_MAX + 1}),
        inner({"at": 1}, key=b""),
        inner({"at": 1}, {"2a": 7}),
        inner({"at": 1}, {"2a": "aaaa"}),
        inner({"at": 1}, {"zz": DIGEST}),
        inner({"at": 1}, {f"{number:02x}": DIGEST for number in range(40)}),
        Packet.of({"at": 1}, b"\xff").serialize(),
    ],
)
def test_what_is_no_handshake_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        Handshake.parse_inner(0x3A, data)


def test_an_introduction_of_another_type_is_refused() -> None:
    with pytest.raises(DecodeError):
        Handshake.parse_unencrypted(Packet.of({"type": "jwt", "csid": "3a"}))


@pytest.mark.parametrize("name", [None, "", "3", "3A", "0x", "3a3", "٣a"])
def test_a_cipher_set_id_is_two_hex_digits(name: str | None) -> None:
    with pytest.raises(DecodeError):
        parse_csid(name)


@given(st.binary(max_size=300))
def test_arbitrary_bytes_parse_or_raise_decode_error(data: bytes) -> None:
    try:
        handshake = Handshake.parse_inner(0x3A, data)
    except DecodeError:
        return
    assert handshake.at is not None
