"""What a crow packet of type 3 carries: a message between nodes, the ports of a tower.

    | sid | rid | flags | chunk id        | data |
    |  2  |  2  |   1   | 2, when chunked | ...  |

    flags: bit 0 more chunks follow, bit 1 chunked, bits 4 to 7 kind (0 message, 1 error)

The data of an error is its code, 4 bytes. Two nodes that keep a channel put a frame into the data:

    | frame id | frame type | request and answer: qos, ackquant | data: the bytes |
    |    2     |     1      |             1 + 2                 |      ...        |

Sizes in bytes, integers little-endian.
"""

import struct
from typing import Self

import msgspec

from rookery.errors import DecodeError, UsageError
from rookery.wire.crow_packet import QOS_MAX

NODE_MAX = 0xFFFF
FRAME_ID_MODULUS = 1 << 16
ERROR_UNKNOWN_NODE = 33  # the only code there is

# What the public implementation puts together again, at most.
CHUNKS_MAX = 1024
MESSAGE_SIZE_MAX = 1 << 16

_HEADER = struct.Struct("<HHB")
_CHUNK_HEADER = struct.Struct("<HHBH")
HEADER_SIZE = _HEADER.size
CHUNK_HEADER_SIZE = _CHUNK_HEADER.size

_HAS_MORE = 0b01
_CHUNKED = 0b10
_ERROR = 1

_ERROR_CODE = struct.Struct("<i")
_FRAME = struct.Struct("<HB")
_HANDSHAKE = struct.Struct("<HBBH")

_REQUEST = 0
_ANSWER = 1
_DATA = 2
_REFUSE = 3


class NodePacket(msgspec.Struct, frozen=True, gc=False):
    """A message from one node to another, or one chunk of it."""

    sid: int
    rid: int
    data: bytes
    is_error: bool = False
    chunk_id: int | None = None  # None: the message is whole
    has_more: bool = False

    @classmethod
    def error(cls, sid: int, rid: int, code: int = ERROR_UNKNOWN_NODE) -> Self:
        return cls(sid, rid, _ERROR_CODE.pack(code), is_error=True)

    @property
    def error_code(self) -> int:
        if len(self.data) != _ERROR_CODE.size:
            raise DecodeError(f"an error code of {len(self.data)} bytes")
        code: int = _ERROR_CODE.unpack(self.data)[0]
        return code

    def chunks(self, size: int) -> list[Self]:
        """The same message in packets of at most `size` bytes each, subheader included."""
        if HEADER_SIZE + len(self.data) <= size:
            return [self]
        step = size - CHUNK_HEADER_SIZE
        if step <= 0:
            raise UsageError(f"no chunk has room in {size} bytes")
        starts = range(0, len(self.data), step)
        if len(starts) > CHUNKS_MAX or len(self.data) > MESSAGE_SIZE_MAX:
            raise UsageError(f"{len(self.data)} bytes are too many for chunks of {size}")
        return [
            type(self)(
                self.sid,
                self.rid,
                self.data[start : start + step],
                is_error=self.is_error,
                chunk_id=chunk_id,
                has_more=chunk_id + 1 < len(starts),
            )
            for chunk_id, start in enumerate(starts)
        ]

    def serialize(self) -> bytes:
        flags = self.is_error << 4
        try:
            if self.chunk_id is None:
                return _HEADER.pack(self.sid, self.rid, flags) + self.data
            flags |= _CHUNKED | self.has_more
            return _CHUNK_HEADER.pack(self.sid, self.rid, flags, self.chunk_id) + self.data
        except struct.error as error:
            raise UsageError(f"no node {self.sid} or {self.rid}, or no such chunk") from error

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read the data of a packet of type 3, or raise DecodeError; reserved bits are ignored."""
        if len(data) < HEADER_SIZE:
            raise DecodeError(f"{len(data)} bytes cannot be a node packet")
        sid, rid, flags = _HEADER.unpack_from(data)
        kind = flags >> 4
        if kind > _ERROR:
            raise DecodeError(f"a node packet of unknown kind {kind}")
        is_error = kind == _ERROR
        if not flags & _CHUNKED:
            return cls(sid, rid, data[HEADER_SIZE:], is_error)
        if len(data) < CHUNK_HEADER_SIZE:
            raise DecodeError(f"{len(data)} bytes cannot be a chunk")
        chunk_id = int.from_bytes(data[HEADER_SIZE:CHUNK_HEADER_SIZE], "little")
        has_more = flags & _HAS_MORE == _HAS_MORE
        return cls(sid, rid, data[CHUNK_HEADER_SIZE:], is_error, chunk_id, has_more)


class ChannelRequest(msgspec.Struct, frozen=True, gc=False):
    """Opens a channel and says how its data shall be carried."""

    qos: int
    ackquant_ms: int
    frame_id: int = 0

    def serialize(self) -> bytes:
        return _handshake(self.frame_id, _REQUEST, self.qos, self.ackquant_ms)


class ChannelAnswer(msgspec.Struct, frozen=True, gc=False):
    """Accepts a channel; the node it comes from is the other end from now on."""

    qos: int
    ackquant_ms: int
    frame_id: int = 0

    def serialize(self) -> bytes:
        return _handshake(self.frame_id, _ANSWER, self.qos, self.ackquant_ms)


class ChannelData(msgspec.Struct, frozen=True, gc=False):
    frame_id: int  # counts from 0 in each direction, and wraps
    data: bytes

    def serialize(self) -> bytes:
        return _frame(self.frame_id, _DATA) + self.data


class ChannelRefuse(msgspec.Struct, frozen=True, gc=False):
    """Ends a channel, or declines to open it."""

    frame_id: int = 0

    def serialize(self) -> bytes:
        return _frame(self.frame_id, _REFUSE)


ChannelFrame = ChannelRequest | ChannelAnswer | ChannelData | ChannelRefuse


def parse_channel_frame(data: bytes) -> ChannelFrame:
    """Read the data of a node packet that belongs to a channel, or raise DecodeError."""
    if len(data) < _FRAME.size:
        raise DecodeError(f"{len(data)} bytes cannot be a channel frame")
    frame_id, frame_type = _FRAME.unpack_from(data)
    if frame_type == _DATA:
        return ChannelData(frame_id, data[_FRAME.size :])
    if frame_type in (_REQUEST, _ANSWER):
        return _parse_handshake(data)
    if frame_type == _REFUSE and len(data) == _FRAME.size:
        return ChannelRefuse(frame_id)
    raise DecodeError(f"{len(data)} bytes cannot be a channel frame of type {frame_type}")


def _parse_handshake(data: bytes) -> ChannelRequest | ChannelAnswer:
    if len(data) != _HANDSHAKE.size:
        raise DecodeError(f"{len(data)} bytes cannot be a channel handshake")
    frame_id, frame_type, qos, ackquant_ms = _HANDSHAKE.unpack(data)
    if qos > QOS_MAX:
        raise DecodeError(f"there is no quality of service {qos}")
    handshake = ChannelRequest if frame_type == _REQUEST else ChannelAnswer
    return handshake(qos, ackquant_ms, frame_id)


def _handshake(frame_id: int, frame_type: int, qos: int, ackquant_ms: int) -> bytes:
    if qos > QOS_MAX:
        raise UsageError(f"there is no quality of service {qos}")
    try:
        return _HANDSHAKE.pack(frame_id, frame_type, qos, ackquant_ms)
    except struct.error as error:
        raise UsageError("the handshake has no room in a channel frame") from error


def _frame(frame_id: int, frame_type: int) -> bytes:
    assert 0 <= frame_id < FRAME_ID_MODULUS, "the channel wraps its frame ids"
    return _FRAME.pack(frame_id, frame_type)
