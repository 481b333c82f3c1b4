"""BESIDE: negotiates, over a stream, the UDP path that accompanies it.

    head | 9 | kind | sizes |   body | attempt |
         | 1 |  1   |   1   |        |    4    |

    kind     1 OFFER    the dialling side will try datagrams to the stream's own address and port
             2 ACCEPT   try
             3 HEARD    datagrams of this attempt came: bit 0 of `sizes` small, bit 1 of data size;
                        bit 7: the receiver shall answer with its own
             4 GONE     the path failed, do not use it
             5 REFUSE   there will be no datagrams here

`sizes` is 0 for all but HEARD. `attempt` is random and never 0; the pings of the path carry it.
"""

from enum import IntEnum
from typing import Self

import msgspec

from rookery.errors import DecodeError
from rookery.wire.link.frame_types import COMPANION

HEARD_SMALL = 1
HEARD_DATA = 2
HEARD_BOTH = HEARD_SMALL | HEARD_DATA

_ASKS = 0x80
_HEAD_SIZE = 3
_ATTEMPT_SIZE = 4


class CompanionKind(IntEnum):
    """The numbers are those of the wire."""

    OFFER = 1
    ACCEPT = 2
    HEARD = 3
    GONE = 4
    REFUSE = 5


class CompanionFrame(msgspec.Struct, frozen=True, gc=False):
    """One frame of the negotiation."""

    kind: CompanionKind
    attempt: int
    sizes: int = 0
    asks: bool = False

    def serialize(self) -> tuple[bytes, bytes]:
        """Head and body."""
        sizes = self.sizes | (_ASKS if self.asks else 0)
        return bytes((COMPANION, self.kind, sizes)), self.attempt.to_bytes(_ATTEMPT_SIZE, "big")

    @classmethod
    def parse(cls, head: bytes, body: bytes) -> Self:
        """Read one BESIDE frame, or raise DecodeError."""
        if len(head) != _HEAD_SIZE or head[0] != COMPANION or len(body) != _ATTEMPT_SIZE:
            raise DecodeError(f"{len(body)} bytes under a head of {len(head)} cannot be BESIDE")
        try:
            kind = CompanionKind(head[1])
        except ValueError as error:
            raise DecodeError(f"there is no BESIDE of kind {head[1]}") from error
        sizes, attempt = head[2] & ~_ASKS, int.from_bytes(body, "big")
        if sizes > HEARD_BOTH or (head[2] and kind is not CompanionKind.HEARD):
            raise DecodeError(f"BESIDE of kind {head[1]} with sizes {head[2]:#x}")
        if attempt == 0:
            raise DecodeError("attempt 0 is that of streams")
        return cls(kind, attempt, sizes, head[2] & _ASKS != 0)
