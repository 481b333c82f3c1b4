"""Tunnel path: one of the paths between the two ends of a tunnel, as its owner describes it."""

from enum import Enum
from typing import Final

import msgspec

from rookery.wire.mesh.tunnel_packet import PACKET_SIZE_MAX

STREAM_MTU: Final = PACKET_SIZE_MAX
DATAGRAM_MTU: Final = 1100


class TunnelPathKind(Enum):
    """What may happen to packets in flight."""

    STREAM = "stream"  # nothing while it lives: TCP from end to end
    DATAGRAM = "datagram"  # lost, overtaken, repeated: UDP, or relays


class TunnelPath(msgspec.Struct, frozen=True, kw_only=True):
    """`id` names it to the other side; a number may come back after the path was down."""

    id: int
    kind: TunnelPathKind
    mtu: int = DATAGRAM_MTU  # head and body
    rtt_s: float = 0.1  # a guess, until it is measured
    weight: float = 1.0  # its share when shares are prescribed
    label: str = ""  # for those who watch
