"""Events of a tunnel: what its programs have to know."""

from enum import IntEnum

import msgspec

from rookery.wire.link.lob import JsonObject


class StreamOpened(msgspec.Struct, frozen=True):
    """The other side opened a stream."""

    stream: int
    service: str
    meta: JsonObject
    priority: int


class StreamReadable(msgspec.Struct, frozen=True):
    """The stream became readable."""

    stream: int


class StreamWritable(msgspec.Struct, frozen=True):
    """There is room again after a write that was not taken in full."""

    stream: int


class StreamFinished(msgspec.Struct, frozen=True):
    """All bytes of the other side have come; some may still wait to be read."""

    stream: int


class StreamStopped(msgspec.Struct, frozen=True):
    """The other side reads no more of it; what it writes still comes."""

    stream: int
    code: int


class StreamReset(msgspec.Struct, frozen=True):
    """The other side gave up what it was writing; the rest of it will never come."""

    stream: int
    code: int


class TunnelDatagramArrived(msgspec.Struct, frozen=True):
    data: bytes


class TunnelStalled(msgspec.Struct, frozen=True):
    """No path is left; everything waits."""


class TunnelResumed(msgspec.Struct, frozen=True):
    """There is a path again."""


class TunnelClosed(msgspec.Struct, frozen=True):
    """The tunnel is over, and all its streams."""

    code: int
    reason: str
    is_remote: bool


Event = (
    StreamOpened
    | StreamReadable
    | StreamWritable
    | StreamFinished
    | StreamStopped
    | StreamReset
    | TunnelDatagramArrived
    | TunnelStalled
    | TunnelResumed
    | TunnelClosed
)


class CloseCode(IntEnum):
    """Of a tunnel; the numbers are those of the wire."""

    DONE = 0
    PROTOCOL = 1  # the other side broke the rules
    STALLED = 2  # no path for too long
    UNKNOWN = 3  # a packet of a tunnel that this node does not know
    REPLACED = 4  # the other side opened a new one
    SHUTDOWN = 5  # the node ends
    REFUSED = 6  # no tunnels, or too many
