"""Observation: one thing that was learned, as a hub's or a node's spool keeps it for the lake.

    | received_at | kind | sender | boot | sequence | content |
    |      8      |  1   |    6     |  8   |    8     |   ...   |

Integers big-endian; received_at in wall milliseconds. Content is a msgpack map, kept as it came.
"""

from struct import Struct
from typing import Final, NamedTuple, Self

from rookery.errors import DecodeError

DEVICE: Final = 1  # content: wire.fleet.telemetry.DeviceReport
SERVER: Final = 2  # wire.fleet.telemetry.LoadReport
CALLED: Final = 3  # wire.fleet.telemetry.CallReport
ENROLLED: Final = 4  # fleet.entry.Entry, an array; comes before the first report of its sender
SECURITY: Final = 5  # fleet.reports.security_events.SecurityEvent
LINK: Final = 6  # wire.observation_content.LinkSample
RECORD: Final = 7  # wire.observation_content.RecordChange
DECISION: Final = 8  # wire.observation_content.ObservedRouteDecision
SESSION: Final = 9  # wire.fleet.telemetry.SessionReport
REQUEST: Final = 10  # wire.observation_content.EndedRequest
MESSAGE: Final = 11  # wire.observation_content.PublishedMessage

HEAD = Struct(">QB6sQQ")
KIND_AT: Final = 8  # for readers that skip most of them
CONTENT_SIZE_MAX = 4096


class Observation(NamedTuple):
    """A record of the spool. Boot and sequence are zero where no report is behind it."""

    received_ms: int
    kind: int
    sender: bytes
    boot: int
    sequence: int
    content: bytes

    def serialize(self) -> bytes:
        assert len(self.content) <= CONTENT_SIZE_MAX
        return HEAD.pack(*self[:5]) + self.content

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read exactly one record, or raise DecodeError."""
        if not HEAD.size <= len(data) <= HEAD.size + CONTENT_SIZE_MAX:
            raise DecodeError(f"{len(data)} bytes cannot be an observation")
        received_ms, kind, sender, boot, sequence = HEAD.unpack_from(data)
        return cls(received_ms, kind, sender, boot, sequence, data[HEAD.size :])
