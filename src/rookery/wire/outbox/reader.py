"""Outbox reader: takes frames out of a stream of bytes, however it was cut."""

from struct import Struct
from typing import Final

from rookery.errors import DecodeError
from rookery.wire.outbox.frames import (
    ACKNOWLEDGEMENT,
    ACKNOWLEDGEMENT_LAYOUT,
    ERROR,
    ERROR_LAYOUT,
    FRAME_SIZE_MAX,
    INTRODUCTION,
    INTRODUCTION_LAYOUT,
    LENGTH_SIZE,
    REPLY,
    REPLY_LAYOUT,
    REQUEST,
    TEXT_SIZE_MAX,
    VERSION,
    AcknowledgementFrame,
    ErrorFrame,
    IntroductionFrame,
    ReplyFrame,
)
from rookery.wire.outbox.request import RequestFrame, parse_request

Frame = IntroductionFrame | RequestFrame | AcknowledgementFrame | ReplyFrame | ErrorFrame

_unpack_length: Final = Struct(">I").unpack_from


class OutboxFrameReader:
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
            (size,) = _unpack_length(data, at)
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


def parse_frame(data: bytes) -> Frame:
    """Read exactly one frame, its length included, or raise DecodeError."""
    if len(data) <= LENGTH_SIZE or int.from_bytes(data[:LENGTH_SIZE], "big") != len(data) - 4:
        raise DecodeError("a frame that is not as long as it says")
    kind = data[LENGTH_SIZE]
    if kind == REQUEST:
        return parse_request(data, 0, len(data))
    if kind == ACKNOWLEDGEMENT:
        if len(data) != ACKNOWLEDGEMENT_LAYOUT.size:
            raise DecodeError("not an acknowledgement")
        return AcknowledgementFrame(_checked(ACKNOWLEDGEMENT_LAYOUT.unpack(data)[2]))
    if kind == REPLY:
        if len(data) < REPLY_LAYOUT.size:
            raise DecodeError("too short for a reply")
        return ReplyFrame(_checked(REPLY_LAYOUT.unpack_from(data)[2]), data[REPLY_LAYOUT.size :])
    if kind == ERROR:
        return _parse_error(data)
    if kind == INTRODUCTION:
        return _parse_introduction(data)
    raise DecodeError(f"no frame has type {kind}")


def _parse_error(data: bytes) -> ErrorFrame:
    if not ERROR_LAYOUT.size <= len(data) <= ERROR_LAYOUT.size + TEXT_SIZE_MAX:
        raise DecodeError("not an error")
    _, _, id_, code = ERROR_LAYOUT.unpack_from(data)
    try:
        return ErrorFrame(id_, code, data[ERROR_LAYOUT.size :].decode())
    except UnicodeDecodeError as error:
        raise DecodeError("an error whose text is no UTF-8") from error


def _parse_introduction(data: bytes) -> IntroductionFrame:
    # Another version may have other fields behind these; the reader of the version decides.
    if len(data) < INTRODUCTION_LAYOUT.size:
        raise DecodeError("too short for an introduction")
    _, _, version, *fields, requests, size = INTRODUCTION_LAYOUT.unpack_from(data)
    if version == VERSION and len(data) > INTRODUCTION_LAYOUT.size:
        raise DecodeError("too long for an introduction")
    if not requests or not size:
        raise DecodeError("an introduction that takes no requests")
    hashname, epoch, memory, heard, handled = fields
    return IntroductionFrame(hashname, epoch, memory, heard, handled, requests, size, version)


def _checked(id_: int) -> int:
    if not id_:
        raise DecodeError("no request has the id 0")
    return id_
