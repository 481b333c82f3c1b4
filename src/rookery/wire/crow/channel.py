"""Frames that two nodes which keep a channel put into the data of their node packets.

    | frame id | frame type | request and answer: qos, ackquant | data: the bytes |
    |    2     |     1      |             1 + 2                 |      ...        |

Sizes in bytes, integers little-endian.
"""

import struct

import msgspec

from rookery.errors import DecodeError, UsageError
from rookery.wire.crow.packet import QOS_MAX

FRAME_ID_MODULUS = 1 << 16

_FRAME = struct.Struct("<HB")
_HANDSHAKE = struct.Struct("<HBBH")

_REQUEST = 0
_ANSWER = 1
_DATA = 2
_REFUSE = 3


class ChannelRequest(msgspec.Struct, frozen=True, gc=False):
    """Opens a channel and sets how its data is carried."""

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
