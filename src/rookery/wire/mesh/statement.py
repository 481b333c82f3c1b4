"""Statement: signed bytes that any member may pass on in a realm.

    | version | kind | realm | content | signature |
    |    1    |  1   |   8   |    n    |    64     |

The signature is made over `SIGNED_LABEL` and everything before it. Whose key it must fit is for
the content to say; here only the shape is read.
"""

from typing import Self

import msgspec

from rookery.errors import DecodeError

CERTIFICATE = 1
RECORD = 2
REVOCATION = 3
KINDS = frozenset((CERTIFICATE, RECORD, REVOCATION))

VERSION = 1
REALM_ID_SIZE = 8
SIGNATURE_SIZE = 64
STATEMENT_SIZE_MAX = 4096
SIGNED_LABEL = b"rookery statement"

_CONTENT_AT = 2 + REALM_ID_SIZE
_OVERHEAD = _CONTENT_AT + SIGNATURE_SIZE
CONTENT_SIZE_MAX = STATEMENT_SIZE_MAX - _OVERHEAD


class Statement(msgspec.Struct, frozen=True, gc=False):
    """One statement; `realm` is the id of the realm it was made for."""

    kind: int
    realm: bytes
    content: bytes
    signature: bytes

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read exactly one statement, or raise DecodeError."""
        if not _OVERHEAD <= len(data) <= STATEMENT_SIZE_MAX:
            raise DecodeError(f"{len(data)} bytes cannot be a statement")
        if data[0] != VERSION:
            raise DecodeError(f"a statement of version {data[0]}")
        if data[1] not in KINDS:
            raise DecodeError(f"a statement of unknown kind {data[1]}")
        return cls(
            data[1],
            data[2:_CONTENT_AT],
            data[_CONTENT_AT:-SIGNATURE_SIZE],
            data[-SIGNATURE_SIZE:],
        )

    def serialize(self) -> bytes:
        return _head(self.kind, self.realm, self.content) + self.signature

    @property
    def signed(self) -> bytes:
        """What the signature is made over."""
        return to_sign(self.kind, self.realm, self.content)


def to_sign(kind: int, realm: bytes, content: bytes) -> bytes:
    """What has to be signed to make a statement of this."""
    return SIGNED_LABEL + _head(kind, realm, content)


def _head(kind: int, realm: bytes, content: bytes) -> bytes:
    return bytes((VERSION, kind)) + realm + content
