"""Probe: tests whether packets of a link arrive over a route.

    PROBE   head | 13 |  body | token | padding |        PROBED  head | 14 |  body | token |
                 | 1  |       |   8   |   ...   |                     | 1  |       |   8   |

Sizes in bytes. Both are sealed for the two ends like all that the route carries, so those between
cannot tell them from data, and cannot answer. The padding is zero.
"""

from typing import Final, Self

import msgspec

from rookery.errors import DecodeError
from rookery.wire.link.frame_types import PROBE, PROBED
from rookery.wire.mesh.ping import DATA_SIZE, SMALL_SIZE

TOKEN_SIZE: Final = 8
SIZES: Final = (SMALL_SIZE, DATA_SIZE)  # of a whole PROBE


class Probe(msgspec.Struct, frozen=True, gc=False):
    """`size` is that of head and body."""

    token: bytes
    size: int = SMALL_SIZE

    @classmethod
    def parse(cls, head: bytes, body: bytes) -> Self:
        size = len(head) + len(body)
        if head != bytes((PROBE,)) or size not in SIZES:
            raise DecodeError("not a probe")
        if any(body[TOKEN_SIZE:]):
            raise DecodeError("the padding of a probe must be zero")
        return cls(body[:TOKEN_SIZE], size)

    def serialize(self) -> tuple[bytes, bytes]:
        """Head and body."""
        return bytes((PROBE,)), self.token.ljust(self.size - 1, b"\0")


class Probed(msgspec.Struct, frozen=True, gc=False):
    """The answer of the far end."""

    token: bytes

    @classmethod
    def parse(cls, head: bytes, body: bytes) -> Self:
        if head != bytes((PROBED,)) or len(body) != TOKEN_SIZE:
            raise DecodeError("not the answer to a probe")
        return cls(body)

    def serialize(self) -> tuple[bytes, bytes]:
        """Head and body."""
        return bytes((PROBED,)), self.token
