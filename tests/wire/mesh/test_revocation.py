"""The content of revocations as bytes, and what they cover."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire import base32
from rookery.wire.mesh.certificate import LIFETIME_MAX_S, Certificate
from rookery.wire.mesh.revocation import Revocation

HASHNAME = base32.encode(bytes(range(32)))
REVOCATION = Revocation(3, HASHNAME, 1000, 2000)
CONTENT = (
    bytes(7)
    + b"\x03"
    + bytes(6)
    + b"\x03\xe8"
    + bytes(6)
    + b"\x07\xd0"
    + bytes(range(32))
)  # fmt: skip


def test_the_bytes_are_as_the_diagram_says() -> None:
    assert REVOCATION.content() == CONTENT
    assert Revocation.parse(CONTENT) == REVOCATION
    assert Revocation.parse(CONTENT + b"issuer").issuer == b"issuer"
    assert REVOCATION.node == bytes(range(8))


def test_every_cut_is_refused() -> None:
    for size in range(len(CONTENT)):
        with pytest.raises(DecodeError):
            Revocation.parse(CONTENT[:size])


def test_it_covers_what_its_hashname_was_certified_by_then() -> None:
    certificate = Certificate(1, HASHNAME, bytes(64), {}, frozenset(), "a", 1000, 9000)
    later = msgspec.structs.replace(certificate, not_before_s=1001)
    other = msgspec.structs.replace(certificate, hashname=base32.encode(bytes(32)))
    assert REVOCATION.covers(certificate)
    assert not REVOCATION.covers(later)
    assert not REVOCATION.covers(other)


@given(
    st.integers(0, 2**64 - 1),
    st.binary(min_size=32, max_size=32),
    st.integers(0, 2**40),
    st.integers(1, LIFETIME_MAX_S),
    st.binary(max_size=300),
)
def test_every_revocation_survives_the_wire(
    serial: int, digest: bytes, at_s: int, length: int, issuer: bytes
) -> None:
    revocation = Revocation(serial, base32.encode(digest), at_s, at_s + length, issuer)
    assert Revocation.parse(revocation.content()) == revocation


@given(st.binary(max_size=100), st.integers(0, len(CONTENT)))
def test_arbitrary_bytes_are_a_revocation_or_a_decode_error(data: bytes, kept: int) -> None:
    for candidate in (data, CONTENT[:kept] + data):
        try:
            revocation = Revocation.parse(candidate)
        except DecodeError:
            continue
        assert revocation.content() == candidate
