"""X25519 on raw bytes, refusing what an attacker could choose to make the result known."""

from typing import Final

from nacl.bindings import crypto_scalarmult, crypto_scalarmult_base
from nacl.exceptions import CryptoError

from rookery.errors import DecodeError

KEY_SIZE: Final = 32


def public(secret: bytes) -> bytes:
    return crypto_scalarmult_base(secret)


def agree(secret: bytes, peer: bytes) -> bytes:
    """The shared secret; DecodeError for a point of small order, whose result is all zero."""
    try:
        return crypto_scalarmult(secret, peer)
    except CryptoError as error:
        raise DecodeError("a public key of small order") from error
