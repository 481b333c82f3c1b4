"""Reads the frames of a tunnel's packet; `tunnel_frames` describes them.

Apart from it, so that it can be compiled: a node does this for every packet.
"""

from collections.abc import Callable
from struct import error as StructError  # noqa: N812 - it is a class
from typing import Final

from rookery.errors import DecodeError
from rookery.wire.mesh.tunnel_data import (
    ACK,
    ACK_TYPE,
    DATA,
    DATA_HEADER_SIZE,
    DATA_TYPE,
    FIN_TYPE,
    RANGE_SIZE,
    RANGES,
    RANGES_MAX,
    USUAL,
    USUAL_SIZE,
    TunnelAck,
    TunnelData,
)
from rookery.wire.mesh.tunnel_frames import (
    CLOSE,
    CLOSE_TYPE,
    CREDIT,
    CREDIT_TYPE,
    DATAGRAM,
    DATAGRAM_HEADER_SIZE,
    DATAGRAM_TYPE,
    OFFSET_MAX,
    OPENS,
    OPENS_TYPE,
    PROBE_TYPE,
    RESET,
    RESET_TYPE,
    STOP,
    STOP_TYPE,
    Frame,
    TunnelClose,
    TunnelCredit,
    TunnelDatagram,
    TunnelOpens,
    TunnelProbe,
    TunnelReset,
    TunnelStop,
)

Parser = Callable[[memoryview, int, list[Frame]], int]

_PROBE: Final = TunnelProbe()
_ACK_AT: Final = 16  # behind the prefix of the packet
_COUNT_AT: Final = 37


def parse_usual(body: bytes) -> list[Frame] | None:
    """An ACK of one range and one DATA after the prefix, as nearly all small packets have.

    None for all others, and for malformed ones: `parse_frames` raises what is wrong.
    """
    if len(body) < USUAL_SIZE or body[_ACK_AT] != ACK_TYPE or body[_COUNT_AT] != 1:
        return None
    largest: int
    run: int
    way, largest, delay_us, marks, gap, run, kind, stream, offset, size = USUAL.unpack_from(body)
    data, first = body[USUAL_SIZE:], largest - run + 1
    is_ack = largest <= OFFSET_MAX and not gap and run > 0 and first > 0
    is_data = kind == DATA_TYPE and stream > 0 and offset <= OFFSET_MAX and size == len(data)
    if not is_ack or not is_data:
        return None
    return [TunnelAck(way, ((first, largest),), delay_us, marks), TunnelData(stream, offset, data)]


def parse_frames(body: memoryview, at: int) -> list[Frame]:
    """Every frame from there to the end, or DecodeError."""
    frames: list[Frame] = []
    size = len(body)
    try:
        while at < size:
            kind = body[at]
            if kind in (DATA_TYPE, FIN_TYPE):
                _, stream, offset, count = DATA.unpack_from(body, at)
                at += DATA_HEADER_SIZE
                end = at + count
                if end > size or offset > OFFSET_MAX or not stream:
                    raise DecodeError("data beyond its bounds")
                frames.append(TunnelData(stream, offset, body[at:end], kind == FIN_TYPE))
                at = end
            elif kind == ACK_TYPE:
                at = _ack(body, at, frames)
            else:
                at = _PARSERS[kind](body, at, frames)
    except (StructError, KeyError):
        raise DecodeError("not a frame of a tunnel") from None
    return frames


def _ack(body: memoryview, at: int, frames: list[Frame]) -> int:
    largest: int
    count: int
    _, way, largest, delay_us, marks, count = ACK.unpack_from(body, at)
    at += ACK.size
    if not 1 <= count <= RANGES_MAX or largest > OFFSET_MAX:
        raise DecodeError("an acknowledgement of nothing, or of too much")
    ranges = []
    below = largest
    told: tuple[int, ...] = RANGES[count].unpack_from(body, at)
    for index in range(count):
        gap, run = told[2 * index], told[2 * index + 1]
        first = below - gap - run + 1
        # Packets are numbered from 1; only the first range has no gap before it.
        if first < 1 or not run or (gap == 0) != (index == 0):
            raise DecodeError("ranges that contradict each other")
        ranges.append((first, below - gap))
        below = first - 1
    frames.append(TunnelAck(way, tuple(ranges), delay_us, marks))
    return at + count * RANGE_SIZE


def _credit(body: memoryview, at: int, frames: list[Frame]) -> int:
    _, stream, maximum = CREDIT.unpack_from(body, at)
    frames.append(TunnelCredit(stream, maximum))
    return at + CREDIT.size


def _opens(body: memoryview, at: int, frames: list[Frame]) -> int:
    frames.append(TunnelOpens(OPENS.unpack_from(body, at)[1]))
    return at + OPENS.size


def _reset(body: memoryview, at: int, frames: list[Frame]) -> int:
    _, stream, code, size = RESET.unpack_from(body, at)
    if size > OFFSET_MAX or not stream:
        raise DecodeError("a reset beyond its bounds")
    frames.append(TunnelReset(stream, code, size))
    return at + RESET.size


def _stop(body: memoryview, at: int, frames: list[Frame]) -> int:
    _, stream, code = STOP.unpack_from(body, at)
    if not stream:
        raise DecodeError("there is no stream 0")
    frames.append(TunnelStop(stream, code))
    return at + STOP.size


def _datagram(body: memoryview, at: int, frames: list[Frame]) -> int:
    data, at = _taken(body, at + DATAGRAM_HEADER_SIZE, DATAGRAM.unpack_from(body, at)[1])
    frames.append(TunnelDatagram(data))
    return at


def _probe(body: memoryview, at: int, frames: list[Frame]) -> int:
    frames.append(_PROBE)
    return at + 1


def _close(body: memoryview, at: int, frames: list[Frame]) -> int:
    _, code, size = CLOSE.unpack_from(body, at)
    reason, at = _text(body, at + CLOSE.size, size)
    frames.append(TunnelClose(code, reason))
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


_PARSERS: Final[dict[int, Parser]] = {
    CREDIT_TYPE: _credit,
    OPENS_TYPE: _opens,
    RESET_TYPE: _reset,
    STOP_TYPE: _stop,
    DATAGRAM_TYPE: _datagram,
    PROBE_TYPE: _probe,
    CLOSE_TYPE: _close,
}
