"""Recent sample: the fields of a report that `recent_telemetry` keeps.

Decoding only these takes a third of the time of decoding all.
"""

from typing import Annotated

import msgspec
from msgspec import Meta


class RecentInterfaceCounters(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Of an interface, in bytes."""

    received: int = 0
    sent: int = 0


class RecentSample(msgspec.Struct, frozen=True, gc=False):
    """Named as in a report."""

    t: int
    load: float = 0.0
    mem: float = 0.0
    disk: float = 0.0
    temp: float | None = None
    ifs: Annotated[dict[str, RecentInterfaceCounters], Meta(max_length=64)] = {}


# The same in their order, as numbers that nobody looks into: all at once costs less than each.
Row = tuple[int, object, object, object, object, dict[str, RecentInterfaceCounters]]

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
decode = msgspec.msgpack.Decoder(RecentSample).decode
