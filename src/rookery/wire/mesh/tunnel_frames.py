"""Frames of a tunnel: the contents of one packet between two ends, in order.

    DATA, ACK                                                 as `tunnel_data` has them
    CREDIT    | 5 | stream 4 | maximum 8 |                    stream 0: all streams together
    OPENS     | 6 | maximum 4 |
    RESET     | 7 | stream 4 | code 4 | size 8 |
    STOP      | 8 | stream 4 | code 4 |
    DATAGRAM  | 9 | n 2 | bytes |
    PROBE     | 10 |
    CLOSE     | 11 | code 2 | n 1 | reason |

Sizes in bytes, integers big-endian. Frames fill a packet to its end.
"""

from struct import Struct
from typing import Final

import msgspec

from rookery.wire.mesh.tunnel_data import TunnelAck, TunnelData

REASON_SIZE_MAX: Final = 255
STREAM_MAX: Final = 2**32 - 1
DATAGRAM_HEADER_SIZE: Final = 3
DATAGRAM_SIZE_MAX: Final = 61440

CREDIT_TYPE: Final = 5
OPENS_TYPE: Final = 6
RESET_TYPE: Final = 7
STOP_TYPE: Final = 8
DATAGRAM_TYPE: Final = 9
PROBE_TYPE: Final = 10
CLOSE_TYPE: Final = 11

CREDIT: Final = Struct(">BIQ")
OPENS: Final = Struct(">BI")
RESET: Final = Struct(">BIIQ")
STOP: Final = Struct(">BII")
DATAGRAM: Final = Struct(">BH")
CLOSE: Final = Struct(">BHB")

OFFSET_MAX: Final = 2**63


class TunnelCredit(msgspec.Struct, frozen=True, gc=False):
    """Flow control: the highest offset of a stream; stream 0: total bytes of all streams."""

    stream: int
    maximum: int

    def serialize(self) -> bytes:
        return CREDIT.pack(CREDIT_TYPE, self.stream, self.maximum)


class TunnelOpens(msgspec.Struct, frozen=True, gc=False):
    """How many streams the receiver of this frame may open in total, ended ones included."""

    maximum: int

    def serialize(self) -> bytes:
        return OPENS.pack(OPENS_TYPE, self.maximum)


class TunnelReset(msgspec.Struct, frozen=True, gc=False):
    """The sender gives up its half, of which `size` bytes count against the credit."""

    stream: int
    code: int
    size: int

    def serialize(self) -> bytes:
        return RESET.pack(RESET_TYPE, self.stream, self.code, self.size)


class TunnelStop(msgspec.Struct, frozen=True, gc=False):
    """The sender wants no more of the receiver's half."""

    stream: int
    code: int

    def serialize(self) -> bytes:
        return STOP.pack(STOP_TYPE, self.stream, self.code)


class TunnelDatagram(msgspec.Struct, frozen=True, gc=False):
    """A message that is never repeated."""

    data: bytes | memoryview

    def serialize(self) -> bytes:
        return b"".join((datagram_header(len(self.data)), self.data))


def datagram_header(size: int) -> bytes:
    return DATAGRAM.pack(DATAGRAM_TYPE, size)


class TunnelProbe(msgspec.Struct, frozen=True, gc=False):
    """Nothing but a reason to acknowledge the packet."""

    def serialize(self) -> bytes:
        return bytes((PROBE_TYPE,))


class TunnelClose(msgspec.Struct, frozen=True, gc=False):
    """The tunnel is over."""

    code: int
    reason: str = ""

    def serialize(self) -> bytes:
        reason = self.reason.encode()[:REASON_SIZE_MAX].decode(errors="ignore").encode()
        return CLOSE.pack(CLOSE_TYPE, self.code, len(reason)) + reason


Frame = (
    TunnelData
    | TunnelAck
    | TunnelCredit
    | TunnelOpens
    | TunnelReset
    | TunnelStop
    | TunnelDatagram
    | TunnelProbe
    | TunnelClose
)
