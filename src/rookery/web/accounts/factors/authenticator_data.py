"""Authenticator data (WebAuthn, 6.1): what is signed together with the hash of the client data.

| hash of RP id | flags | counter | attested credential, if AT | extensions, if ED |
|      32       |   1   |    4    |                            |       CBOR        |

attested credential: | AAGUID 16 | length 2 | credential id | COSE key |
"""

import struct
from typing import Self

import msgspec

from rookery.errors import DecodeError
from rookery.web.accounts.factors import cbor

CREDENTIAL_SIZE_MAX = 1023  # WebAuthn, 4

USER_PRESENT, USER_VERIFIED, HAS_CREDENTIAL, HAS_EXTENSIONS = 0x01, 0x04, 0x40, 0x80
_HEAD = struct.Struct(">32sBI")
_CREDENTIAL = struct.Struct(">16sH")


class AuthenticatorData(msgspec.Struct, frozen=True, kw_only=True):
    """As it was signed."""

    rp_id_hash: bytes
    flags: int
    counter: int
    credential: bytes = b""
    key: bytes = b""  # COSE, as it came

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """All of it, or DecodeError."""
        if len(data) < _HEAD.size:
            raise DecodeError(f"{len(data)} bytes of authenticator data")
        rp_id_hash, flags, counter = _HEAD.unpack_from(data)
        credential, key, at = b"", b"", _HEAD.size
        if flags & HAS_CREDENTIAL:
            credential, key, at = _attested(data, at)
        if flags & HAS_EXTENSIONS:
            extensions, at = cbor.parse_from(data, at)
            if not isinstance(extensions, dict):
                raise DecodeError("extensions are a map")
        if at != len(data):
            raise DecodeError(f"{len(data) - at} bytes after the authenticator data")
        return cls(
            rp_id_hash=rp_id_hash, flags=flags, counter=counter, credential=credential, key=key
        )

    def has(self, flags: int) -> bool:
        return self.flags & flags == flags


def _attested(data: bytes, at: int) -> tuple[bytes, bytes, int]:
    if len(data) - at < _CREDENTIAL.size:
        raise DecodeError("authenticator data ends within the credential")
    _, size = _CREDENTIAL.unpack_from(data, at)
    at += _CREDENTIAL.size
    if not 1 <= size <= CREDENTIAL_SIZE_MAX or size > len(data) - at:
        raise DecodeError(f"a credential id of {size} bytes")
    credential, at = data[at : at + size], at + size
    _, end = cbor.parse_from(data, at)
    return credential, data[at:end], end
