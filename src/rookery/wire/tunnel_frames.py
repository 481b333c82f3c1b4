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

from collections.abc import Callable
from struct import Struct
from struct import error as StructError  # noqa: N812 - it is a class

import msgspec

from rookery.errors import DecodeError

RANGES_MAX = 32
REASON_SIZE_MAX = 255
STREAM_MAX = 2**32 - 1
DATA_HEADER_SIZE = 17
DATAGRAM_HEADER_SIZE = 3
DATAGRAM_SIZE_MAX = 61440
ACK_HEADER_SIZE = 22
RANGE_SIZE = 8

_DATA_TYPE, _FIN_TYPE, _ACK_TYPE, _CREDIT_TYPE, _OPENS_TYPE = 2, 3, 4, 5, 6
_RESET_TYPE, _STOP_TYPE, _DATAGRAM_TYPE, _PROBE_TYPE, _CLOSE_TYPE = 7, 8, 9, 10, 11

_DATA = Struct(">BIQI")
_ACK = Struct(">BIQIIB")
_RANGE = Struct(">II")
_CREDIT = Struct(">BIQ")
_OPENS = Struct(">BI")
_RESET = Struct(">BIIQ")
_STOP = Struct(">BII")
_DATAGRAM = Struct(">BH")
_CLOSE = Struct(">BHB")

_OFFSET_MAX = 2**63


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
    return _DATA.pack(_FIN_TYPE if fin else _DATA_TYPE, stream, offset, size)


class Ack(msgspec.Struct, frozen=True, gc=False):
    """Packets that came with this way's number on them; `ranges` falls, both ends included."""

    way: int
    ranges: tuple[tuple[int, int], ...]
    delay_us: int = 0  # since the largest came
    marks: int = 0  # packets so far that a relay had marked

    def serialize(self) -> bytes:
        largest = self.ranges[0][1]
        count = len(self.ranges)
        parts = [_ACK.pack(_ACK_TYPE, self.way, largest, self.delay_us, self.marks, count)]
        below = largest
        for first, last in self.ranges:
            parts.append(_RANGE.pack(below - last, last - first + 1))
            below = first - 1
        return b"".join(parts)


class Credit(msgspec.Struct, frozen=True, gc=False):
    """So far may the stream's bytes go; stream 0: so many bytes all streams together."""

    stream: int
    maximum: int

    def serialize(self) -> bytes:
        return _CREDIT.pack(_CREDIT_TYPE, self.stream, self.maximum)


class Opens(msgspec.Struct, frozen=True, gc=False):
    """So many streams may the receiver of this frame have opened, ended ones included."""

    maximum: int

    def serialize(self) -> bytes:
        return _OPENS.pack(_OPENS_TYPE, self.maximum)


class Reset(msgspec.Struct, frozen=True, gc=False):
    """The sender gives up its half, of which `size` bytes count against the credit."""

    stream: int
    code: int
    size: int

    def serialize(self) -> bytes:
        return _RESET.pack(_RESET_TYPE, self.stream, self.code, self.size)


class Stop(msgspec.Struct, frozen=True, gc=False):
    """The sender wants no more of the receiver's half."""

    stream: int
    code: int

    def serialize(self) -> bytes:
        return _STOP.pack(_STOP_TYPE, self.stream, self.code)


class Datagram(msgspec.Struct, frozen=True, gc=False):
    """A message that is never repeated."""

    data: bytes | memoryview

    def serialize(self) -> bytes:
        return b"".join((datagram_header(len(self.data)), self.data))


def datagram_header(size: int) -> bytes:
    return _DATAGRAM.pack(_DATAGRAM_TYPE, size)


class Probe(msgspec.Struct, frozen=True, gc=False):
    """Nothing but a reason to acknowledge the packet."""

    def serialize(self) -> bytes:
        return bytes((_PROBE_TYPE,))


class Close(msgspec.Struct, frozen=True, gc=False):
    """The tunnel is over."""

    code: int
    reason: str = ""

    def serialize(self) -> bytes:
        reason = self.reason.encode()[:REASON_SIZE_MAX].decode(errors="ignore").encode()
        return _CLOSE.pack(_CLOSE_TYPE, self.code, len(reason)) + reason


Frame = Data | Ack | Credit | Opens | Reset | Stop | Datagram | Probe | Close

_PROBE = Probe()


def parse_frames(body: memoryview, at: int) -> list[Frame]:
    """Every frame from there to the end, or DecodeError."""
    frames: list[Frame] = []
    size = len(body)
    try:
        while at < size:
            kind = body[at]
            if kind in (_DATA_TYPE, _FIN_TYPE):
                _, stream, offset, count = _DATA.unpack_from(body, at)
                at += DATA_HEADER_SIZE
                end = at + count
                if end > size or offset > _OFFSET_MAX or not stream:
                    raise DecodeError("data beyond its bounds")
                frames.append(Data(stream, offset, body[at:end], kind == _FIN_TYPE))
                at = end
            else:
                at = _PARSERS[kind](body, at, frames)
    except (StructError, KeyError):
        raise DecodeError("not a frame of a tunnel") from None
    return frames


def _ack(body: memoryview, at: int, frames: list[Frame]) -> int:
    _, way, largest, delay_us, marks, count = _ACK.unpack_from(body, at)
    at += _ACK.size
    if not 1 <= count <= RANGES_MAX or largest > _OFFSET_MAX:
        raise DecodeError("an acknowledgement of nothing, or of too much")
    ranges = []
    below = largest
    for index in range(count):
        gap, run = _RANGE.unpack_from(body, at)
        at += _RANGE.size
        first = below - gap - run + 1
        # Packets are numbered from 1; only the first range has no gap before it.
        if first < 1 or not run or (gap == 0) != (index == 0):
            raise DecodeError("ranges that contradict each other")
        ranges.append((first, below - gap))
        below = first - 1
    frames.append(Ack(way, tuple(ranges), delay_us, marks))
    return at


def _credit(body: memoryview, at: int, frames: list[Frame]) -> int:
    _, stream, maximum = _CREDIT.unpack_from(body, at)
    frames.append(Credit(stream, maximum))
    return at + _CREDIT.size


def _opens(body: memoryview, at: int, frames: list[Frame]) -> int:
    frames.append(Opens(_OPENS.unpack_from(body, at)[1]))
    return at + _OPENS.size


def _reset(body: memoryview, at: int, frames: list[Frame]) -> int:
    _, stream, code, size = _RESET.unpack_from(body, at)
    if size > _OFFSET_MAX or not stream:
        raise DecodeError("a reset beyond its bounds")
    frames.append(Reset(stream, code, size))
    return at + _RESET.size


def _stop(body: memoryview, at: int, frames: list[Frame]) -> int:
    _, stream, code = _STOP.unpack_from(body, at)
    if not stream:
        raise DecodeError("there is no stream 0")
    frames.append(Stop(stream, code))
    return at + _STOP.size


def _datagram(body: memoryview, at: int, frames: list[Frame]) -> int:
    data, at = _taken(body, at + DATAGRAM_HEADER_SIZE, _DATAGRAM.unpack_from(body, at)[1])
    frames.append(Datagram(data))
    return at


def _probe(body: memoryview, at: int, frames: list[Frame]) -> int:
    frames.append(_PROBE)
    return at + 1


def _close(body: memoryview, at: int, frames: list[Frame]) -> int:
    _, code, size = _CLOSE.unpack_from(body, at)
    reason, at = _text(body, at + _CLOSE.size, size)
    frames.append(Close(code, reason))
    return at


def _taken(body: memoryview, at: int, size: int) -> tuple[memoryview, int]:
    if at + size > len(body):
        raise DecodeError("a frame longer than its packet")
    return body[at : at + size], at + size


def _text(body: memoryview, at: int, size: int) -> tuple[str, int]:
    data, at = _taken(body, at, size)
    try:
        return str(data, "utf-8"), at
    except UnicodeDecodeError:
        raise DecodeError("not UTF-8") from None


_PARSERS: dict[int, Callable[[memoryview, int, list[Frame]], int]] = {
    _ACK_TYPE: _ack,
    _CREDIT_TYPE: _credit,
    _OPENS_TYPE: _opens,
    _RESET_TYPE: _reset,
    _STOP_TYPE: _stop,
    _DATAGRAM_TYPE: _datagram,
    _PROBE_TYPE: _probe,
    _CLOSE_TYPE: _close,
}
