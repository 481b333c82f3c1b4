"""Frames: how two rookery endpoints carry packets over a stream of bytes.

    | preface | length | packet | length | packet | …
    |    9    |   4    | length |   4    | length | …

Length big-endian; zero is a keepalive. The dialling side opens with the preface, which Telehash
chunking would never begin with, so one port serves both.
"""

from rookery.errors import DecodeError

PREFACE = b"\x00ROOKERY\x01"
FRAME_SIZE_MAX = 1 << 18
KEEPALIVE = bytes(4)

_LENGTH_SIZE = 4


def frame(packet: bytes) -> bytes:
    size = len(packet)
    assert 0 < size <= FRAME_SIZE_MAX, "packet does not fit a frame"
    return size.to_bytes(_LENGTH_SIZE, "big") + packet


class Deframer:
    """Takes packets out of a stream; a byte is copied at most once, and only where it was cut."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = bytearray()  # the beginning of one frame

    def feed(self, data: bytes) -> list[memoryview]:
        """The packets that `data` completes; DecodeError when one exceeds the bound."""
        packets: list[memoryview] = []
        at = self._complete_held(data, packets) if self._held else 0
        end, view = len(data), memoryview(data)
        while end - at >= _LENGTH_SIZE:
            stop = at + _frame_size(data[at : at + _LENGTH_SIZE])
            if stop > end:
                break
            if stop - at > _LENGTH_SIZE:
                packets.append(view[at + _LENGTH_SIZE : stop])
            at = stop
        self._held += view[at:]
        return packets

    def _complete_held(self, data: bytes, packets: list[memoryview]) -> int:
        """Add what the held frame lacks; how much of `data` that took."""
        held, at = self._held, 0
        if len(held) < _LENGTH_SIZE:
            at = _LENGTH_SIZE - len(held)
            held += data[:at]
            if len(held) < _LENGTH_SIZE:
                return len(data)
        lacking = _frame_size(held[:_LENGTH_SIZE]) - len(held)
        held += memoryview(data)[at : at + lacking]
        if len(data) - at < lacking:
            return len(data)
        if len(held) > _LENGTH_SIZE:
            packets.append(memoryview(held)[_LENGTH_SIZE:])
        self._held = bytearray()
        return at + lacking


def _frame_size(length: bytes | bytearray) -> int:
    size = int.from_bytes(length, "big")
    if size > FRAME_SIZE_MAX:
        raise DecodeError(f"a frame of {size} bytes")
    return _LENGTH_SIZE + size
