"""The content of certificates as bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire import base32
from rookery.wire.mesh.certificate import (
    ISSUER_SIZE_MAX,
    LIFETIME_MAX_S,
    ROLE_BITS,
    Certificate,
    role_bits,
    roles_of,
)
from rookery.wire.mesh.node_id import node_id

HASHNAME = base32.encode(bytes(range(32)))
KEY = bytes(range(100, 164))
CERTIFICATE = Certificate(
    7, HASHNAME, KEY, {0x3A: b"\x3a" * 32}, frozenset(("relay", "issuer")), "café", 1000, 2000
)
CONTENT = (
    bytes(7)
    + b"\x07"
    + bytes(6)
    + b"\x03\xe8"
    + bytes(6)
    + b"\x07\xd0"
    + b"\x00\x11"
    + b"\x05caf\xc3\xa9"
    + bytes(range(32))
    + KEY
    + b"\x01\x3a"
    + b"\x3a" * 32
)

names = st.text(min_size=1, max_size=32).filter(lambda name: name.isprintable())
certificates = st.builds(
    lambda serial, digest, key, intermediates, roles, name, start, length, issuer: Certificate(
        serial,
        base32.encode(digest),
        key,
        intermediates,
        frozenset(roles),
        name,
        start,
        start + length,
        issuer,
    ),
    st.integers(0, 2**64 - 1),
    st.binary(min_size=32, max_size=32),
    st.binary(min_size=64, max_size=64),
    st.dictionaries(
        st.integers(1, 255).filter(lambda csid: csid != 0x40),
        st.binary(min_size=32, max_size=32),
        max_size=7,
    ),
    st.sets(st.sampled_from(sorted(ROLE_BITS))),
    names.filter(lambda name: name == name.strip()),
    st.integers(0, 2**40),
    st.integers(1, LIFETIME_MAX_S),
    st.binary(max_size=300),
)


def test_the_bytes_are_as_the_diagram_says() -> None:
    assert CERTIFICATE.content() == CONTENT
    assert Certificate.parse(CONTENT) == CERTIFICATE
    assert Certificate.parse(CONTENT + b"issuer").issuer == b"issuer"


def test_node_and_signing_key_follow() -> None:
    assert CERTIFICATE.node == node_id(HASHNAME) == bytes(range(8))
    assert CERTIFICATE.signing_key == KEY[32:]


def test_every_cut_is_refused() -> None:
    for size in range(len(CONTENT)):
        with pytest.raises(DecodeError):
            Certificate.parse(CONTENT[:size])


def test_roles_are_bits_and_unknown_bits_give_no_right() -> None:
    assert role_bits(["relay", "exit", "hub", "server", "issuer", "relay"]) == 0b11111
    assert roles_of(0b11111) == ROLE_BITS.keys()
    assert roles_of(0xFFE0) == frozenset()


@pytest.mark.parametrize(
    "name", ["", " ", "a ", "a\n", "a\x1b[2J", "a\u202eb", "a\u200bb", "x" * 33, "\u00a0"]
)
def test_a_name_that_cannot_be_shown_is_refused(name: str) -> None:
    data = name.encode()
    content = CONTENT[:26] + bytes((len(data),)) + data + CONTENT[32:]
    with pytest.raises(DecodeError, match="name"):
        Certificate.parse(content)


def test_a_name_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(DecodeError, match="UTF-8"):
        Certificate.parse(CONTENT[:30] + b"\xff\xff" + CONTENT[32:])


@pytest.mark.parametrize(("start", "end"), [(5, 5), (5, 4), (0, LIFETIME_MAX_S + 1)])
def test_an_empty_or_endless_lifetime_is_refused(start: int, end: int) -> None:
    times = start.to_bytes(8, "big") + end.to_bytes(8, "big")
    with pytest.raises(DecodeError, match="lifetime"):
        Certificate.parse(CONTENT[:8] + times + CONTENT[24:])


@pytest.mark.parametrize("csids", [[0], [0x40], [2, 1], [1, 1], [1, 2, 3, 4, 5, 6, 7, 8]], ids=str)
def test_intermediates_have_one_spelling(csids: list[int]) -> None:
    parts = b"".join(bytes((csid,)) + bytes(32) for csid in csids)
    with pytest.raises(DecodeError, match="intermediates"):
        Certificate.parse(CONTENT[:-34] + bytes((len(csids),)) + parts)


def test_an_issuer_has_a_bound() -> None:
    assert Certificate.parse(CONTENT + bytes(ISSUER_SIZE_MAX)).issuer == bytes(ISSUER_SIZE_MAX)
    with pytest.raises(DecodeError, match="an issuer of 2049 bytes"):
        Certificate.parse(CONTENT + bytes(ISSUER_SIZE_MAX + 1))


@given(certificates)
def test_every_certificate_survives_the_wire(certificate: Certificate) -> None:
    assert Certificate.parse(certificate.content()) == certificate


@given(st.binary(max_size=400), st.integers(0, len(CONTENT)))
def test_arbitrary_bytes_are_a_certificate_or_a_decode_error(data: bytes, kept: int) -> None:
    for candidate in (data, CONTENT[:kept] + data):
        try:
            certificate = Certificate.parse(candidate)
        except DecodeError:
            continue
        assert Certificate.parse(certificate.content()) == certificate
