"""HKDF-SHA256 (RFC 5869) for keys of exactly one digest, without salt unless one is given.

Two steps, because the first is the same for every key drawn from one agreement.
"""

from hmac import digest

KEY_SIZE = 32

_NO_SALT = bytes(32)


def extract(agreement: bytes, salt: bytes = _NO_SALT) -> bytes:
    return digest(salt, agreement, "sha256")


def expand(extracted: bytes, info: bytes) -> bytes:
    return digest(extracted, info + b"\x01", "sha256")
