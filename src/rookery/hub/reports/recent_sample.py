"""Recent sample: the fields of a report that `recent_telemetry` keeps.

They are those of the telemetry schema that have a chart, without their bounds. Decoding only these
takes a third of the time of decoding all.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from rookery.wire.fleet.telemetry import CHART_FIELDS


class RecentInterfaceCounters(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Of an interface, in bytes."""

    received: int = 0
    sent: int = 0


Interfaces = dict[str, RecentInterfaceCounters]

RecentSample = msgspec.defstruct(
    "RecentSample",
    [
        ("t", int),
        *((each.name, each.annotation, each.default) for each in CHART_FIELDS),
        ("ifs", Annotated[Interfaces, Meta(max_length=64)], {}),
    ],
    frozen=True,
    gc=False,
)
"""Named as in a report."""

NAMES = tuple(each.public_name for each in CHART_FIELDS)
"""Of the values between `t` and `ifs`, as charts name them."""

# The same in their order: t, the values, interfaces. All at once costs less than each.
Row = tuple[Any, ...]

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
decode = msgspec.msgpack.Decoder(RecentSample).decode
