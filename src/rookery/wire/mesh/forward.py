"""A packet on a source route: the FORWARD frame, its datagram classes, and path errors.

    head  | type = 1 | flags | hop limit | cursor | count | repairs |     1 byte each
    body  | node id  × count | payload |
          |    8             |  ...    |

    flags: bits 0 and 1 datagram class, bits 2 to 4 kind, bit 5 congestion mark, 6 and 7 zero

The route names every node from the origin to the destination, those already passed included;
`cursor` is the place in it of the frame's receiver. A relay changes the head only, unless
it must repair the route. The payload of a path error:

    | reason | node that could not be reached | first bytes of the lost payload |
    |   1    |               8                |              <= 8               |
"""

from enum import IntEnum
from typing import Final, Self

import msgspec

from rookery.errors import DecodeError, ProtocolError
from rookery.wire.link.frame_types import FORWARD
from rookery.wire.mesh.node_id import NODE_ID_SIZE, NodeId
from rookery.wire.octets import Octets, Parts


class DatagramClass(IntEnum):
    """What a sender prefers for a packet when there is no datagram path; numbers as on the wire."""

    FALLBACK = 0  # a datagram path, else a stream while that is quick
    DROP = 1  # a datagram path or nothing
    RELIABLE_OK = 2  # whichever path there is


HEAD_SIZE: Final = 6
ROUTE_MIN: Final = 2  # nodes
ROUTE_MAX: Final = 17
HOP_LIMIT_MAX: Final = ROUTE_MAX - 1
REPAIRS_MAX: Final = 2
QUOTE_SIZE_MAX: Final = 8
PATH_ERROR_SIZE_MAX: Final = 1 + NODE_ID_SIZE + QUOTE_SIZE_MAX

_KIND_SHIFT: Final = 2
_MARK: Final = 1 << 5


class ForwardKind(IntEnum):
    """What the payload is."""

    PACKET = 0  # sealed end to end
    ECHO_REQUEST = 1
    ECHO_REPLY = 2
    PATH_ERROR = 3


class PathErrorReason(IntEnum):
    """Why a relay gave a packet up."""

    NO_WAY = 1  # the next node cannot be reached, and there is no detour
    HOP_LIMIT = 2
    REFUSED = 3  # this node does not relay for that neighbour


# Only these combinations of class and kind exist; the mark may join each of them.
_FLAGS: Final = {
    kind << _KIND_SHIFT | datagram_class: (kind, datagram_class)
    for kind in ForwardKind
    for datagram_class in DatagramClass
}


class Forward(msgspec.Struct, frozen=True, gc=False):
    """One frame; `route` holds distinct nodes and `cursor` points at its receiver."""

    route: tuple[NodeId, ...]
    payload: Octets
    kind: ForwardKind = ForwardKind.PACKET
    datagram_class: DatagramClass = DatagramClass.FALLBACK
    hop_limit: int = HOP_LIMIT_MAX
    cursor: int = 1
    repairs: int = 0
    is_marked: bool = False

    @classmethod
    def parse(cls, head: bytes, body: Octets) -> Self:
        """Read a frame, or raise DecodeError or ProtocolError with a short, stable reason."""
        if len(head) != HEAD_SIZE or head[0] != FORWARD:
            raise DecodeError("not a forward head")
        _, flags, hop_limit, cursor, count, repairs = head
        known = _FLAGS.get(flags & ~_MARK)
        if known is None:
            raise DecodeError("unknown forward flags")
        if not ROUTE_MIN <= count <= ROUTE_MAX:
            raise ProtocolError("route too short or too long")
        if not 1 <= cursor < count:
            raise ProtocolError("cursor outside the route")
        # A packet that has passed `cursor` nodes has used as many hops, whatever its limit was.
        if not 1 <= hop_limit <= ROUTE_MAX - cursor:
            raise ProtocolError("impossible hop limit")
        if repairs > REPAIRS_MAX:
            raise ProtocolError("too many repairs")
        size = count * NODE_ID_SIZE
        if len(body) < size:
            raise DecodeError("route longer than the body")
        route = tuple(bytes(body[at : at + NODE_ID_SIZE]) for at in range(0, size, NODE_ID_SIZE))
        if len(set(route)) != count:
            raise ProtocolError("node twice in a route")
        kind, datagram_class = known
        is_marked = flags & _MARK == _MARK
        return cls(route, body[size:], kind, datagram_class, hop_limit, cursor, repairs, is_marked)

    def head(self) -> bytes:
        flags = self.kind << _KIND_SHIFT | self.datagram_class | (_MARK if self.is_marked else 0)
        return bytes((FORWARD, flags, self.hop_limit, self.cursor, len(self.route), self.repairs))

    @property
    def body_size(self) -> int:
        return len(self.route) * NODE_ID_SIZE + len(self.payload)

    def body(self) -> bytes:
        return b"".join(self.parts())

    def parts(self) -> Parts:
        """The body, not yet in one piece."""
        return b"".join(self.route), self.payload


def marked(head: bytes) -> bytes:
    """The same head with the congestion mark."""
    return head[:1] + bytes((head[1] | _MARK,)) + head[2:]


class PathError(msgspec.Struct, frozen=True, gc=False):
    """What the first node of the error's own route tells the origin of a lost packet."""

    reason: PathErrorReason
    failed: NodeId
    quote: bytes = b""

    @classmethod
    def parse(cls, payload: bytes) -> Self:
        if not 1 + NODE_ID_SIZE <= len(payload) <= PATH_ERROR_SIZE_MAX:
            raise DecodeError("not a path error")
        try:
            reason = PathErrorReason(payload[0])
        except ValueError:
            raise DecodeError("unknown reason of a path error") from None
        return cls(reason, payload[1 : 1 + NODE_ID_SIZE], payload[1 + NODE_ID_SIZE :])

    def serialize(self) -> bytes:
        return bytes((self.reason,)) + self.failed + self.quote
