"""Outbox reader: takes frames out of a stream of bytes, however it was cut."""

from struct import Struct

from rookery.errors import DecodeError
from rookery.wire.outbox import (
    FRAME_SIZE_MAX,
    LENGTH_SIZE,
    REQUEST,
    Frame,
    parse_frame,
    parse_request,
)

_LENGTH = Struct(">I")


class OutboxReader:
    """Holds the beginning of one frame at most; each byte is copied at most twice."""

    __slots__ = ("_held", "_lacking")

    def __init__(self) -> None:
        self._held = bytearray()
        self._lacking = LENGTH_SIZE  # bytes until there is something to look at

    @property
    def is_between_frames(self) -> bool:
        """Whether a stream that ends here was cut in no frame."""
        return not self._held

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that `data` completes; DecodeError, and the stream is of no more use."""
        held = self._held
        if held:
            if len(data) < self._lacking:
                held += data
                self._lacking -= len(data)
                return []
            data = bytes(held) + data
            held.clear()
        frames: list[Frame] = []
        at, end = 0, len(data)
        self._lacking = LENGTH_SIZE
        while end - at >= LENGTH_SIZE:
            (size,) = _LENGTH.unpack_from(data, at)
            if not 0 < size <= FRAME_SIZE_MAX:
                raise DecodeError(f"no frame has {size} bytes")
            stop = at + LENGTH_SIZE + size
            if stop > end:
                self._lacking = stop - end
                break
            if data[at + LENGTH_SIZE] == REQUEST:
                frames.append(parse_request(data, at, stop))
            else:
                frames.append(parse_frame(data[at:stop]))
            at = stop
        else:
            self._lacking = LENGTH_SIZE - (end - at)
        held += data[at:]
        return frames
