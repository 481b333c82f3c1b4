"""What a crow packet of type 3 carries: a message between nodes, the ports of a tower.

    | sid | rid | flags | chunk id        | data |
    |  2  |  2  |   1   | 2, when chunked | ...  |

    flags: bit 0 more chunks follow, bit 1 chunked, bits 4 to 7 kind (0 message, 1 error)

The data of an error is its code, 4 bytes. Two nodes that keep a channel put frames into the data,
see `crow_channel`. Sizes in bytes, integers little-endian.
"""

import struct
from typing import Final

from rookery.errors import DecodeError, UsageError

NODE_MAX: Final = 0xFFFF
ERROR_UNKNOWN_NODE: Final = 33  # the only code there is

# What the public implementation puts together again, at most.
CHUNKS_MAX: Final = 1024
MESSAGE_SIZE_MAX: Final = 1 << 16

_HEADER: Final = struct.Struct("<HHB")
_CHUNK_HEADER: Final = struct.Struct("<HHBH")
_ERROR_CODE: Final = struct.Struct("<i")
HEADER_SIZE: Final = 5
CHUNK_HEADER_SIZE: Final = 7

_HAS_MORE: Final = 0b01
_CHUNKED: Final = 0b10
_ERROR: Final = 1


class NodePacket:
    """A message from one node to another, or one chunk of it."""

    __slots__ = ("chunk_id", "data", "has_more", "is_error", "rid", "sid")

    def __init__(
        self,
        sid: int,
        rid: int,
        data: bytes,
        is_error: bool = False,
        chunk_id: int | None = None,
        has_more: bool = False,
    ) -> None:
        self.sid: Final = sid
        self.rid: Final = rid
        self.data: Final = data
        self.is_error: Final = is_error
        self.chunk_id: Final = chunk_id  # None: the message is whole
        self.has_more: Final = has_more

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodePacket) and self._fields == other._fields

    def __hash__(self) -> int:
        return hash(self._fields)

    def __repr__(self) -> str:
        return f"NodePacket{self._fields}"

    @property
    def _fields(self) -> tuple[int, int, bytes, bool, int | None, bool]:
        return self.sid, self.rid, self.data, self.is_error, self.chunk_id, self.has_more

    @staticmethod
    def error(sid: int, rid: int, code: int = ERROR_UNKNOWN_NODE) -> "NodePacket":
        return NodePacket(sid, rid, _ERROR_CODE.pack(code), is_error=True)

    @property
    def error_code(self) -> int:
        if len(self.data) != _ERROR_CODE.size:
            raise DecodeError(f"an error code of {len(self.data)} bytes")
        code: int = _ERROR_CODE.unpack(self.data)[0]
        return code

    def chunks(self, size: int) -> "list[NodePacket]":
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
            NodePacket(
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

    @staticmethod
    def parse(data: bytes) -> "NodePacket":
        """Read the data of a packet of type 3, or raise DecodeError; reserved bits are ignored."""
        if len(data) < HEADER_SIZE:
            raise DecodeError(f"{len(data)} bytes cannot be a node packet")
        sid, rid, flags = data[0] | data[1] << 8, data[2] | data[3] << 8, data[4]
        kind = flags >> 4
        if kind > _ERROR:
            raise DecodeError(f"a node packet of unknown kind {kind}")
        is_error = kind == _ERROR
        if not flags & _CHUNKED:
            return NodePacket(sid, rid, data[HEADER_SIZE:], is_error)
        if len(data) < CHUNK_HEADER_SIZE:
            raise DecodeError(f"{len(data)} bytes cannot be a chunk")
        chunk_id = int.from_bytes(data[HEADER_SIZE:CHUNK_HEADER_SIZE], "little")
        has_more = flags & _HAS_MORE == _HAS_MORE
        return NodePacket(sid, rid, data[CHUNK_HEADER_SIZE:], is_error, chunk_id, has_more)
