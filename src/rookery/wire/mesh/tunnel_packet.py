"""Packet of a tunnel: frames with a packet number of the path that it takes.

    head  | type = 11 | flags | way |        body  | tunnel | number | frames |
          |     1     |   1   |  4  |              |   8    |   8    |  ...   |

Sizes in bytes, integers big-endian. `way`: the sender's id of the path. `number`: from 1, rising
on each path, never used twice; 0: not to be acknowledged. Bit 0 of `flags`: the sender has not
received anything yet, so this may be the first packet of a tunnel.
"""

from struct import Struct
from typing import Final

from rookery.errors import DecodeError
from rookery.wire.link.frame_types import TUNNEL
from rookery.wire.mesh.tunnel_frames import Frame
from rookery.wire.mesh.tunnel_reader import parse_frames, parse_usual
from rookery.wire.octets import Octets

FIRST: Final = 1  # flag
HEAD_SIZE: Final = 6
PREFIX_SIZE: Final = 16
PACKET_SIZE_MAX: Final = 256512  # head and body: what libuv reads at once, and what goes with it
WAY_MAX: Final = 2**32 - 1

_HEAD: Final = Struct(">BBI")
_PREFIX: Final = Struct(">QQ")
_NUMBER_MAX: Final = 2**63


class TunnelPacket:
    """One packet as it came."""

    __slots__ = ("frames", "is_first", "number", "tunnel", "way")

    def __init__(
        self, tunnel: int, way: int, number: int, frames: list[Frame], is_first: bool = False
    ) -> None:
        self.tunnel: Final = tunnel
        self.way: Final = way
        self.number: Final = number
        self.frames: Final = frames
        self.is_first: Final = is_first

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TunnelPacket) and self._fields() == other._fields()

    def __repr__(self) -> str:
        return f"TunnelPacket{self._fields()}"

    @staticmethod
    def parse(head: bytes, body: Octets) -> "TunnelPacket":
        """Read one packet, or raise DecodeError."""
        if len(head) != HEAD_SIZE or len(body) < PREFIX_SIZE:
            raise DecodeError("too short for a packet of a tunnel")
        kind, flags, way = _HEAD.unpack(head)
        tunnel, number = _PREFIX.unpack_from(body)
        if kind != TUNNEL or flags > FIRST or number > _NUMBER_MAX:
            raise DecodeError("not a packet of a tunnel")
        frames = parse_usual(body) if isinstance(body, bytes) else None
        if frames is None:
            frames = parse_frames(memoryview(body), PREFIX_SIZE)
        return TunnelPacket(tunnel, way, number, frames, flags == FIRST)

    def serialize(self) -> tuple[bytes, bytes]:
        """Head and body."""
        parts = [prefix(self.tunnel, self.number), *(frame.serialize() for frame in self.frames)]
        return head(self.way, is_first=self.is_first), b"".join(parts)

    def _fields(self) -> tuple[int, int, int, list[Frame], bool]:
        return self.tunnel, self.way, self.number, self.frames, self.is_first


def head(way: int, *, is_first: bool) -> bytes:
    return _HEAD.pack(TUNNEL, FIRST if is_first else 0, way)


def prefix(tunnel: int, number: int) -> bytes:
    """What stands before the frames."""
    return _PREFIX.pack(tunnel, number)
