"""Signatures: Ed25519, by the signing half of a cipher-set-40 key or by a realm's root key."""

from collections.abc import Callable

from nacl.bindings import crypto_sign, crypto_sign_open, crypto_sign_seed_keypair
from nacl.exceptions import BadSignatureError

from rookery.errors import AuthenticationError
from rookery.identity.cs40 import KEY_SIZE as CS40_KEY_SIZE

KEY_SIZE = 32
SEED_SIZE = 32
SIGNATURE_SIZE = 64

Verify = Callable[[bytes, bytes, bytes], None]
"""Takes key, message and signature; raises AuthenticationError unless they belong together."""


def verify(key: bytes, message: bytes, signature: bytes) -> None:
    if len(key) != KEY_SIZE or len(signature) != SIGNATURE_SIZE:
        raise AuthenticationError("a key or signature of the wrong size")
    try:
        crypto_sign_open(signature + message, key)
    except BadSignatureError as error:
        raise AuthenticationError("the signature does not hold") from error


def sign(seed: bytes, message: bytes) -> bytes:
    """The signature of the holder of `seed` under `message`."""
    assert len(seed) == SEED_SIZE
    _, secret = crypto_sign_seed_keypair(seed)
    return crypto_sign(message, secret)[:SIGNATURE_SIZE]


def public(seed: bytes) -> bytes:
    """The key that verifies what `seed` signs."""
    assert len(seed) == SEED_SIZE
    key, _ = crypto_sign_seed_keypair(seed)
    return key


def signing_key(key: bytes) -> bytes:
    """The half of a public cipher-set-40 key that verifies its holder's signatures."""
    assert len(key) == CS40_KEY_SIZE
    return key[-KEY_SIZE:]


def signing_seed(secret: bytes) -> bytes:
    """The half of a cipher-set-40 secret that its holder signs with."""
    assert len(secret) == CS40_KEY_SIZE
    return secret[-SEED_SIZE:]
