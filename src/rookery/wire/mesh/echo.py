"""Echo: the payloads with which a node tests whether and how fast another can be reached.

    request  | token | padding |          reply  | token | held |
             |   8   | >= 124  |                 |   8   |  4   |

Sizes in bytes. `held`: microseconds from the request's arrival to the reply, at most 2^32 - 1. The
padding makes any request at least as large as its reply, even if the request's route is the
shortest there is and repairs make the reply's route the longest.
"""

import struct
from typing import Self

import msgspec

from rookery.errors import DecodeError
from rookery.wire.mesh.forward import QUOTE_SIZE_MAX, ROUTE_MAX, ROUTE_MIN
from rookery.wire.mesh.node_id import NODE_ID_SIZE

TOKEN_SIZE = QUOTE_SIZE_MAX  # so that a path error quotes all of it
HELD_MAX_US = 2**32 - 1

_REPLY = struct.Struct(f">{TOKEN_SIZE}sI")
REQUEST_SIZE_MIN = _REPLY.size + (ROUTE_MAX - ROUTE_MIN) * NODE_ID_SIZE


class EchoRequest(msgspec.Struct, frozen=True, gc=False):
    """`size` is that of the whole payload."""

    token: bytes
    size: int = REQUEST_SIZE_MIN

    @classmethod
    def parse(cls, payload: bytes) -> Self:
        if len(payload) < REQUEST_SIZE_MIN:
            raise DecodeError("echo request too small")
        return cls(payload[:TOKEN_SIZE], len(payload))

    def serialize(self) -> bytes:
        return self.token.ljust(self.size, b"\0")


class EchoReply(msgspec.Struct, frozen=True, gc=False):
    """The answer of the other node."""

    token: bytes
    held_us: int = 0

    @classmethod
    def parse(cls, payload: bytes) -> Self:
        if len(payload) != _REPLY.size:
            raise DecodeError("not an echo reply")
        return cls(*_REPLY.unpack(payload))

    def serialize(self) -> bytes:
        return _REPLY.pack(self.token, self.held_us)
