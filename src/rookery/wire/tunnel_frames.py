"""Frames of a tunnel: what one packet between two ends says, one after the other.

    DATA      | 2 | stream 4 | offset 8 | n 4 | bytes |       3 instead of 2: and then the end
    ACK       | 4 | way 4 | largest 8 | delay 4 | marks 4 | n 1 | n × (gap 4, run 4) |
    CREDIT    | 5 | stream 4 | maximum 8 |                    stream 0: all streams together
    OPENS     | 6 | maximum 4 |
    RESET     | 7 | stream 4 | code 4 | size 8 |
    STOP      | 8 | stream 4 | code 4 |
    DATAGRAM  | 9 | n 2 | bytes |
    PROBE     | 10 |
    CLOSE     | 11 | code 2 | n 1 | reason |

Sizes in bytes, integers big-endian, delays in microseconds. Frames fill a packet to its end.
"""

from struct import Struct

import msgspec

RANGES_MAX = 32
REASON_SIZE_MAX = 255
STREAM_MAX = 2**32 - 1
DATA_HEADER_SIZE = 17
DATAGRAM_HEADER_SIZE = 3
DATAGRAM_SIZE_MAX = 61440
ACK_HEADER_SIZE = 22
RANGE_SIZE = 8

DATA_TYPE, FIN_TYPE, ACK_TYPE, CREDIT_TYPE, OPENS_TYPE = 2, 3, 4, 5, 6
RESET_TYPE, STOP_TYPE, DATAGRAM_TYPE, PROBE_TYPE, CLOSE_TYPE = 7, 8, 9, 10, 11

DATA = Struct(">BIQI")
ACK = Struct(">BIQIIB")
RANGE = Struct(">II")
CREDIT = Struct(">BIQ")
OPENS = Struct(">BI")
RESET = Struct(">BIIQ")
STOP = Struct(">BII")
DATAGRAM = Struct(">BH")
CLOSE = Struct(">BHB")

OFFSET_MAX = 2**63


class Data(msgspec.Struct, frozen=True, gc=False):
    """Bytes of a stream at their offset; `fin`: the stream ends behind them."""

    stream: int
    offset: int
    data: bytes | memoryview
    fin: bool = False

    def serialize(self) -> bytes:
        header = data_header(self.stream, self.offset, len(self.data), fin=self.fin)
        return b"".join((header, self.data))


def data_header(stream: int, offset: int, size: int, *, fin: bool) -> bytes:
    """What stands before the bytes, so that they are copied only once, into the packet."""
    return DATA.pack(FIN_TYPE if fin else DATA_TYPE, stream, offset, size)


class Ack(msgspec.Struct, frozen=True, gc=False):
    """Packets that came with this way's number on them; `ranges` falls, both ends included."""

    way: int
    ranges: tuple[tuple[int, int], ...]
    delay_us: int = 0  # since the largest came
    marks: int = 0  # packets so far that a relay had marked

    def serialize(self) -> bytes:
        largest = self.ranges[0][1]
        count = len(self.ranges)
        parts = [ACK.pack(ACK_TYPE, self.way, largest, self.delay_us, self.marks, count)]
        below = largest
        for first, last in self.ranges:
            parts.append(RANGE.pack(below - last, last - first + 1))
            below = first - 1
        return b"".join(parts)


class Credit(msgspec.Struct, frozen=True, gc=False):
    """So far may the stream's bytes go; stream 0: so many bytes all streams together."""

    stream: int
    maximum: int

    def serialize(self) -> bytes:
        return CREDIT.pack(CREDIT_TYPE, self.stream, self.maximum)


class Opens(msgspec.Struct, frozen=True, gc=False):
    """So many streams may the receiver of this frame have opened, ended ones included."""

    maximum: int

    def serialize(self) -> bytes:
        return OPENS.pack(OPENS_TYPE, self.maximum)


class Reset(msgspec.Struct, frozen=True, gc=False):
    """The sender gives up its half, of which `size` bytes count against the credit."""

    stream: int
    code: int
    size: int

    def serialize(self) -> bytes:
        return RESET.pack(RESET_TYPE, self.stream, self.code, self.size)


class Stop(msgspec.Struct, frozen=True, gc=False):
    """The sender wants no more of the receiver's half."""

    stream: int
    code: int

    def serialize(self) -> bytes:
        return STOP.pack(STOP_TYPE, self.stream, self.code)


class Datagram(msgspec.Struct, frozen=True, gc=False):
    """A message that is never repeated."""

    data: bytes | memoryview

    def serialize(self) -> bytes:
        return b"".join((datagram_header(len(self.data)), self.data))


def datagram_header(size: int) -> bytes:
    return DATAGRAM.pack(DATAGRAM_TYPE, size)


class Probe(msgspec.Struct, frozen=True, gc=False):
    """Nothing but a reason to acknowledge the packet."""

    def serialize(self) -> bytes:
        return bytes((PROBE_TYPE,))


class Close(msgspec.Struct, frozen=True, gc=False):
    """The tunnel is over."""

    code: int
    reason: str = ""

    def serialize(self) -> bytes:
        reason = self.reason.encode()[:REASON_SIZE_MAX].decode(errors="ignore").encode()
        return CLOSE.pack(CLOSE_TYPE, self.code, len(reason)) + reason


Frame = Data | Ack | Credit | Opens | Reset | Stop | Datagram | Probe | Close
