"""Artifact: what an analysis learned, as one signed file with an end to its time.

    | magic | version | kind | issued | expires | key | count | count × (csid | intermediate) |
    |   4   |    1    |  1   |   8    |    8    | 64  |   1   |         (  1  |      32     ) |

    | body | signature |
    |  n   |    64     |

Integers big-endian, times in Unix milliseconds. The key is the issuer's of cipher set 40, whose
second half verifies the signature; the intermediates are those of its other keys, lowest CSID
first, so that a reader needs nothing but a trusted hashname to check the file. The
signature is made over `SIGNED_LABEL` and everything before it. Here only the shape is read.
"""

from collections.abc import Iterable
from struct import Struct as Layout
from typing import Annotated, Self

import msgspec
from msgspec import Meta

from rookery.errors import DecodeError
from rookery.wire import base32
from rookery.wire.mesh.certificate import CSID_40, INTERMEDIATES_MAX, KEY_SIZE

MAGIC = b"\x00RKA"
VERSION = 1
FORECAST = 1
ADVICE = 2
KINDS = frozenset((FORECAST, ADVICE))

ARTIFACT_SIZE_MAX = 256 << 10
LIFETIME_MAX_MS = 14 * 86_400_000  # by then the analysis is stale, whatever the file claims
SIGNATURE_SIZE = 64
SIGNED_LABEL = b"rookery artifact"

# What the bodies are made of.
Hashname = Annotated[str, Meta(min_length=52, max_length=52)]
Milliseconds = Annotated[int, Meta(ge=0, le=(1 << 53) - 1)]
Ratio = Annotated[float, Meta(ge=0.0, le=1.0)]

_DIGEST_SIZE = 32
_INTERMEDIATE_SIZE = 1 + _DIGEST_SIZE
_FIXED = Layout(f">4sBBQQ{KEY_SIZE}sB")
_SIZE_MIN = _FIXED.size + SIGNATURE_SIZE


class Artifact(msgspec.Struct, frozen=True):
    """One artifact; what the body means is for its kind to say."""

    kind: int
    issued_ms: int
    expires_ms: int
    key: bytes  # of cipher set 40
    intermediates: dict[int, bytes]
    body: bytes
    signature: bytes = b""

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read exactly one artifact, or raise DecodeError."""
        if not _SIZE_MIN <= len(data) <= ARTIFACT_SIZE_MAX:
            raise DecodeError(f"{len(data)} bytes cannot be an artifact")
        magic, version, kind, issued_ms, expires_ms, key, count = _FIXED.unpack_from(data)
        if magic != MAGIC:
            raise DecodeError("no artifact: it begins otherwise")
        if version != VERSION:
            raise DecodeError(f"an artifact of version {version}")
        if kind not in KINDS:
            raise DecodeError(f"an artifact of unknown kind {kind}")
        check_lifetime(issued_ms, expires_ms)
        body_at = _FIXED.size + count * _INTERMEDIATE_SIZE
        if len(data) < body_at + SIGNATURE_SIZE:
            raise DecodeError("an artifact cut short")
        return cls(
            kind,
            issued_ms,
            expires_ms,
            key,
            _intermediates(data[_FIXED.size : body_at]),
            data[body_at:-SIGNATURE_SIZE],
            data[-SIGNATURE_SIZE:],
        )

    def serialize(self) -> bytes:
        return self._unsigned() + self.signature

    @property
    def signed(self) -> bytes:
        """What the signature is made over."""
        return SIGNED_LABEL + self._unsigned()

    def _unsigned(self) -> bytes:
        fixed = _FIXED.pack(
            MAGIC,
            VERSION,
            self.kind,
            self.issued_ms,
            self.expires_ms,
            self.key,
            len(self.intermediates),
        )
        parts = [bytes((csid,)) + part for csid, part in sorted(self.intermediates.items())]
        return b"".join((fixed, *parts, self.body))


def check_lifetime(issued_ms: int, expires_ms: int) -> None:
    if not 0 <= issued_ms < expires_ms <= issued_ms + LIFETIME_MAX_MS:
        raise DecodeError("an artifact whose lifetime is empty or too long")


def check_hashnames(names: Iterable[str]) -> None:
    """DecodeError unless every name is spelled as a hashname is."""
    for name in names:
        base32.decode(name)


def _intermediates(data: bytes) -> dict[int, bytes]:
    items = [
        (data[at], data[at + 1 : at + _INTERMEDIATE_SIZE])
        for at in range(0, len(data), _INTERMEDIATE_SIZE)
    ]
    csids = [csid for csid, _ in items]
    if len(items) > INTERMEDIATES_MAX or csids != sorted(set(csids) - {0, CSID_40}):
        raise DecodeError("intermediates that are too many, out of order or of cipher set 40")
    return dict(items)
