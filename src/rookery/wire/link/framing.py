"""Frames: how two rookery endpoints carry packets over a stream of bytes.

    | preface | length | packet | length | packet | …
    |    9    |   4    | length |   4    | length | …

Length big-endian; zero is a keepalive. The dialling side opens with the preface, which Telehash
chunking would never begin with, so one port serves both.
"""

from struct import Struct
from typing import Final

from rookery.errors import DecodeError
from rookery.wire.octets import Octets

PREFACE: Final = b"\x00ROOKERY\x01"
FRAME_SIZE_MAX: Final = 1 << 18
KEEPALIVE: Final = bytes(4)

_LENGTH_SIZE: Final = 4
_LENGTH: Final = Struct(">I")
_COPY_SIZE_MAX: Final = 4096  # frames up to here are cheaper to read as bytes of their own
_PLACED_MIN: Final = 4096  # bytes of a frame, before room is made for the whole


def frame(packet: bytes) -> bytes:
    size = len(packet)
    assert 0 < size <= FRAME_SIZE_MAX, "packet does not fit a frame"
    return size.to_bytes(_LENGTH_SIZE, "big") + packet


class SpareBuffer:
    """Keeps an unused buffer for large frames, since a new one would have to be zeroed."""

    __slots__ = ("_room",)

    def __init__(self) -> None:
        self._room = bytearray()

    def take(self, size: int) -> bytearray:
        """At least so many bytes."""
        room = self._room
        if len(room) < size:
            return bytearray(size)
        self._room = bytearray()
        return room

    def give(self, room: bytearray) -> None:
        if len(room) > len(self._room):
            self._room = room


class Deframer:
    """Takes packets out of a stream; a byte is copied at most once, and only where it was cut.

    Read the packets before more is fed to it, or to another deframer with the same spare buffer.
    """

    __slots__ = ("_filled", "_held", "_spare")

    def __init__(self, spare: SpareBuffer | None = None) -> None:
        self._held = bytearray()  # the beginning of one frame, or room for all of it,
        self._filled = 0  # and how much of that has come
        self._spare = spare or SpareBuffer()

    def feed(self, data: Octets) -> list[bytes | memoryview]:
        """The packets that `data` completes; DecodeError when one exceeds the bound."""
        packets: list[bytes | memoryview] = []
        view = data if isinstance(data, memoryview) else memoryview(data)
        end = len(data)
        at = self._complete_held(view, packets) if self._filled else 0
        while end - at >= _LENGTH_SIZE:
            stop = at + _frame_size(view, at)
            if stop > end:
                break
            if stop - at > _LENGTH_SIZE:
                packet = view[at + _LENGTH_SIZE : stop]
                packets.append(packet.tobytes() if stop - at <= _COPY_SIZE_MAX else packet)
            at = stop
        if at < end:
            self._hold(view[at:])
        return packets

    def room(self) -> memoryview | None:
        """Where the rest of a large frame can be read to; None while too little of it has come.

        Otherwise a peer could make us allocate a whole frame with its first few bytes.
        """
        held, filled = self._held, self._filled
        if filled < _PLACED_MIN:
            return None
        size = _frame_size(held, 0)
        if len(held) < size:
            self._held = self._spare.take(size)
            self._held[:filled] = memoryview(held)[:filled]
        return memoryview(self._held)[filled:size]

    def placed(self, count: int) -> list[bytes | memoryview]:
        """The packet that so many bytes complete, which were read to `room`."""
        self._filled += count
        packets: list[bytes | memoryview] = []
        if self._filled == _frame_size(self._held, 0):
            self._release(packets)
        return packets

    def _complete_held(self, data: memoryview, packets: list[bytes | memoryview]) -> int:
        """Add what the held frame lacks; how much of `data` that took."""
        at = 0
        if self._filled < _LENGTH_SIZE:
            at = min(_LENGTH_SIZE - self._filled, len(data))
            self._hold(data[:at])
            if self._filled < _LENGTH_SIZE:
                return at
        lacking = _frame_size(self._held, 0) - self._filled
        taken = min(lacking, len(data) - at)
        self._hold(data[at : at + taken])
        if taken == lacking:
            self._release(packets)
        return at + taken

    def _hold(self, data: memoryview) -> None:
        end = self._filled + len(data)
        self._held[self._filled : end] = data
        self._filled = end

    def _release(self, packets: list[bytes | memoryview]) -> None:
        if self._filled > _LENGTH_SIZE:
            packets.append(memoryview(self._held)[_LENGTH_SIZE : self._filled])
        if self._filled > _PLACED_MIN:
            self._spare.give(self._held)
        self._held, self._filled = bytearray(), 0


def _frame_size(data: Octets, at: int) -> int:
    """Of the frame that begins there, its length included."""
    size: int = _LENGTH.unpack_from(data, at)[0]
    if size > FRAME_SIZE_MAX:
        raise DecodeError(f"a frame of {size} bytes")
    return _LENGTH_SIZE + size
