"""HKDF-SHA256 (RFC 5869) without salt, for keys of exactly one digest.

Two steps, because the first is the same for every key drawn from one agreement.
"""

from hmac import digest

KEY_SIZE = 32

_NO_SALT = bytes(32)


def extract(agreement: bytes) -> bytes:
    return digest(_NO_SALT, agreement, "sha256")


def expand(extracted: bytes, info: bytes) -> bytes:
    return digest(extracted, info + b"\x01", "sha256")
