"""Events of a tunnel: what its programs have to know."""

import msgspec

from rookery.wire.lob import JsonObject


class StreamOpened(msgspec.Struct, frozen=True):
    """The other side opened a stream."""

    stream: int
    service: str
    meta: JsonObject
    priority: int


class Readable(msgspec.Struct, frozen=True):
    """Bytes are there, where none were."""

    stream: int


class Writable(msgspec.Struct, frozen=True):
    """There is room again, after a write was cut short."""

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


class DatagramArrived(msgspec.Struct, frozen=True):
    data: bytes


class Stalled(msgspec.Struct, frozen=True):
    """No way is left; everything waits."""


class Resumed(msgspec.Struct, frozen=True):
    """There is a way again."""


class Closed(msgspec.Struct, frozen=True):
    """The tunnel is over, and all its streams."""

    code: int
    reason: str
    is_remote: bool


Event = (
    StreamOpened
    | Readable
    | Writable
    | StreamFinished
    | StreamStopped
    | StreamReset
    | DatagramArrived
    | Stalled
    | Resumed
    | Closed
)
