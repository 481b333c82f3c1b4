"""Frames of a file transfer: what the two ends of a `files` stream say after its opening.

    | kind | n | bytes |     kind 1: a message, JSON of at most 1024 bytes
    |  1   | 4 |   n   |     kind 2: 1 to 1048576 bytes of the file

Sizes in bytes, integers big-endian. Bytes of a file are passed on as they come, so that a reader
holds no more than a message.
"""

from struct import Struct
from typing import Annotated

import msgspec

from rookery.errors import DecodeError

HEADER_SIZE = 5
MESSAGE_SIZE_MAX = 1024
DATA_SIZE_MAX = 1 << 20
FILE_SIZE_MAX = (1 << 63) - 1

_HEADER = Struct(">BI")
_MESSAGE, _DATA = 1, 2

Size = Annotated[int, msgspec.Meta(ge=0, le=FILE_SIZE_MAX)]
Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]  # BLAKE2b-256


class TransferHave(msgspec.Struct, frozen=True, tag_field="is", tag="have"):
    """The receiver: the first `size` bytes are here already, and this is their digest."""

    size: Size
    digest: Digest


class TransferStart(msgspec.Struct, frozen=True, tag_field="is", tag="start"):
    """The sender: a file of `size` bytes; those from `offset` on follow."""

    size: Size
    offset: Size


class TransferWhole(msgspec.Struct, frozen=True, tag_field="is", tag="whole"):
    """The sender: that was the last byte; the digest is that of the file from its first one on."""

    digest: Digest


class TransferStored(msgspec.Struct, frozen=True, tag_field="is", tag="stored"):
    """The receiver: the file is in its place."""


class TransferFailed(msgspec.Struct, frozen=True, tag_field="is", tag="failed"):
    """Either: it comes to nothing, and why, in one word."""

    fault: Annotated[str, msgspec.Meta(max_length=32)]


Message = TransferHave | TransferStart | TransferWhole | TransferStored | TransferFailed
Frame = Message | bytes  # bytes of the file, perhaps a part of those of a frame

_encode = msgspec.json.Encoder().encode
_decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)


def message_frame(message: Message) -> bytes:
    data = _encode(message)
    assert len(data) <= MESSAGE_SIZE_MAX
    return _HEADER.pack(_MESSAGE, len(data)) + data


def data_header(size: int) -> bytes:
    """What goes before so many bytes of the file."""
    assert 0 < size <= DATA_SIZE_MAX
    return _HEADER.pack(_DATA, size)


class FrameReader:
    """Bytes in, frames out; DecodeError for what can be none."""

    __slots__ = ("_buffer", "_data_left")

    def __init__(self) -> None:
        self._buffer = b""  # less than a header and a message
        self._data_left = 0  # of the frame that is being read

    @property
    def is_between(self) -> bool:
        """Whether the stream may end here without cutting a frame."""
        return not (self._buffer or self._data_left)

    def feed(self, data: bytes) -> list[Frame]:
        frames: list[Frame] = []
        rest = memoryview(self._buffer + data if self._buffer else data)
        self._buffer = b""
        while rest:
            if self._data_left:
                piece = bytes(rest[: self._data_left])
                self._data_left -= len(piece)
                rest = rest[len(piece) :]
                frames.append(piece)
                continue
            if len(rest) < HEADER_SIZE:
                break
            kind, size = _HEADER.unpack_from(rest)
            if kind == _DATA:
                self._data_left = _checked(size, DATA_SIZE_MAX)
                rest = rest[HEADER_SIZE:]
                continue
            if kind != _MESSAGE:
                raise DecodeError(f"a frame of unknown kind {kind}")
            end = HEADER_SIZE + _checked(size, MESSAGE_SIZE_MAX)
            if len(rest) < end:
                break
            frames.append(_message(bytes(rest[HEADER_SIZE:end])))
            rest = rest[end:]
        self._buffer = bytes(rest)
        return frames


def _checked(size: int, size_max: int) -> int:
    if not 0 < size <= size_max:
        raise DecodeError(f"a frame of {size} bytes")
    return size


def _message(data: bytes) -> Message:
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError("a message that says nothing") from error
