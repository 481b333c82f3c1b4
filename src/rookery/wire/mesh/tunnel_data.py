"""DATA and ACK, the frames of a tunnel that nearly all packets have; `tunnel_frames` has the rest.

    DATA      | 2 | stream 4 | offset 8 | n 4 | bytes |       3 instead of 2: and then the end
    ACK       | 4 | way 4 | largest 8 | delay 4 | marks 4 | n 1 | n × (gap 4, run 4) |

Sizes in bytes, integers big-endian, delays in microseconds. Apart from the others, so that they can
be compiled.
"""

from struct import Struct
from typing import Final

DATA_TYPE: Final = 2
FIN_TYPE: Final = 3
ACK_TYPE: Final = 4

RANGES_MAX: Final = 32
DATA_HEADER_SIZE: Final = 17
ACK_HEADER_SIZE: Final = 22
RANGE_SIZE: Final = 8

DATA: Final = Struct(">BIQI")
ACK: Final = Struct(">BIQIIB")
RANGES: Final = [Struct(">" + "II" * count) for count in range(RANGES_MAX + 1)]  # by how many
ACK_OF_ONE: Final = Struct(">BIQIIBII")
# A packet's prefix, an ACK of one range and DATA, without what `parse_usual` looks at before.
USUAL: Final = Struct(">16xxIQIIxIIBIQI")
USUAL_SIZE: Final = 63


class TunnelData:
    """Bytes of a stream at their offset; `fin`: the stream ends behind them."""

    __slots__ = ("data", "fin", "offset", "stream")

    def __init__(
        self, stream: int, offset: int, data: bytes | memoryview, fin: bool = False
    ) -> None:
        self.stream: Final = stream
        self.offset: Final = offset
        self.data: Final = data
        self.fin: Final = fin

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TunnelData) and self._fields() == other._fields()

    def __repr__(self) -> str:
        return f"TunnelData{self._fields()}"

    def serialize(self) -> bytes:
        header = data_header(self.stream, self.offset, len(self.data), fin=self.fin)
        return b"".join((header, self.data))

    def _fields(self) -> tuple[int, int, bytes, bool]:
        return self.stream, self.offset, bytes(self.data), self.fin


def data_header(stream: int, offset: int, size: int, *, fin: bool) -> bytes:
    """What stands before the bytes, so that they are copied only once, into the packet."""
    return DATA.pack(FIN_TYPE if fin else DATA_TYPE, stream, offset, size)


class TunnelAck:
    """Packets that came over this path (`way`); `ranges` is descending, both ends included."""

    __slots__ = ("delay_us", "marks", "ranges", "way")

    def __init__(
        self, way: int, ranges: tuple[tuple[int, int], ...], delay_us: int = 0, marks: int = 0
    ) -> None:
        self.way: Final = way
        self.ranges: Final = ranges
        self.delay_us: Final = delay_us  # since the largest came
        self.marks: Final = marks  # packets so far that a relay had marked

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TunnelAck) and self._fields() == other._fields()

    def __repr__(self) -> str:
        return f"TunnelAck{self._fields()}"

    def serialize(self) -> bytes:
        first, largest = self.ranges[0]
        count = len(self.ranges)
        if count == 1:  # as of a path that loses nothing
            return ack_of_one(self.way, first, largest, self.delay_us, self.marks)
        header = ACK.pack(ACK_TYPE, self.way, largest, self.delay_us, self.marks, count)
        told: list[int] = []
        below = largest
        for first, last in self.ranges:
            told.append(below - last)
            told.append(last - first + 1)
            below = first - 1
        return header + RANGES[count].pack(*told)

    def _fields(self) -> tuple[int, tuple[tuple[int, int], ...], int, int]:
        return self.way, self.ranges, self.delay_us, self.marks


def ack_of_one(way: int, first: int, largest: int, delay_us: int, marks: int) -> bytes:
    """An ACK with one range, without an object for it."""
    return ACK_OF_ONE.pack(ACK_TYPE, way, largest, delay_us, marks, 1, 0, largest - first + 1)
