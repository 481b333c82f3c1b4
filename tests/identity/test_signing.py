"""Ed25519 signatures, against RFC 8032 and against everything that does not fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import AuthenticationError
from rookery.identity import signing
from rookery.identity.cs40 import CipherSet40

SEED = bytes(range(32))
KEY = signing.public(SEED)

# RFC 8032, 7.1, test 3
RFC_SEED = bytes.fromhex("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7")
RFC_KEY = bytes.fromhex("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025")
RFC_SIGNATURE = bytes.fromhex(
    "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
    "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
)


def test_signatures_are_those_of_rfc_8032() -> None:
    assert signing.public(RFC_SEED) == RFC_KEY
    assert signing.sign(RFC_SEED, b"\xaf\x82") == RFC_SIGNATURE
    signing.verify(RFC_KEY, b"\xaf\x82", RFC_SIGNATURE)


def test_the_halves_of_a_cipher_set_40_pair_belong_together() -> None:
    pair = CipherSet40().generate(lambda size: bytes(range(size)))
    signature = signing.sign(signing.signing_seed(pair.secret), b"message")
    signing.verify(signing.signing_key(pair.key), b"message", signature)


@given(st.binary(max_size=64), st.integers(0, 63), st.integers(1, 255))
def test_a_changed_signature_does_not_hold(message: bytes, at: int, flip: int) -> None:
    signature = bytearray(signing.sign(SEED, message))
    signature[at] ^= flip
    with pytest.raises(AuthenticationError):
        signing.verify(KEY, message, bytes(signature))


@given(st.binary(max_size=64), st.binary(max_size=64))
def test_a_signature_holds_for_its_own_message_only(message: bytes, other: bytes) -> None:
    signature = signing.sign(SEED, message)
    signing.verify(KEY, message, signature)
    if other != message:
        with pytest.raises(AuthenticationError):
            signing.verify(KEY, other, signature)


@pytest.mark.parametrize("key", [b"", KEY[:-1], KEY + b"\0", bytes(32), b"\xff" * 32])
def test_what_is_no_key_verifies_nothing(key: bytes) -> None:
    with pytest.raises(AuthenticationError):
        signing.verify(key, b"message", signing.sign(SEED, b"message"))


@pytest.mark.parametrize("size", [0, 63, 65])
def test_a_signature_of_another_size_does_not_hold(size: int) -> None:
    with pytest.raises(AuthenticationError, match="wrong size"):
        signing.verify(KEY, b"", bytes(size))
