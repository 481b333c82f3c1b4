"""PING and PONG: numbered packets over one path of a link, and what has come of the other side's.

    PING  head | 2 | next |  body | attempt | sequence | sent |                  report | padding |
               | 1 |  1   |       |    4    |    4     |  8   |                    20   |   ...   |

    PONG  head | 3 |         body | attempt | sequence | received | sent |       report | padding |
               | 1 |              |    4    |    4     |    8     |  8   |         20   |   ...   |

    report     | heard | history | bytes |
               |   4   |    8    |   8   |

Sizes in bytes, integers big-endian, times in microseconds of the sender's own monotonic clock.
`next`: seconds until the sender's next PING at the latest, 0 where it promises none. `attempt`: of
the UDP path that accompanies a stream, else 0. `heard`: the highest sequence that came from the
receiver of this frame (0: none); bit i of `history`: sequence heard - i came. `bytes`: how many
came over this path. Padding brings a frame to the size it has to prove; a PONG is as large as its
PING, heads included.
"""

import struct
from typing import Self

import msgspec

from rookery.errors import DecodeError
from rookery.wire.link.frame_types import PING, PONG

SMALL_SIZE = 64  # head and body
DATA_SIZE = 1200  # what passes this, passes any datagram of ours
HISTORY_SIZE = 64  # pings that a report covers
SEQUENCE_MAX = 2**32 - 1

_PING_HEAD_SIZE = 2
_PONG_HEAD_SIZE = 1
_REPORT = struct.Struct(">IQQ")
_PING = struct.Struct(">IIQ")
_PONG = struct.Struct(">IIQQ")


class PingReport(msgspec.Struct, frozen=True, gc=False):
    """What has come from the other side over this path."""

    heard: int = 0
    history: int = 0
    received_size: int = 0


class Ping(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One ping."""

    attempt: int = 0
    sequence: int
    sent_us: int
    next_s: int
    report: PingReport
    size: int = SMALL_SIZE

    def serialize(self) -> tuple[bytes, bytes]:
        """Head and body."""
        fields = _PING.pack(self.attempt, self.sequence, self.sent_us)
        size = self.size - _PING_HEAD_SIZE
        return bytes((PING, self.next_s)), _padded(fields, self.report, size)

    @classmethod
    def parse(cls, head: bytes, body: bytes) -> Self:
        """Read one PING, or raise DecodeError."""
        _check(head, body, PING, _PING_HEAD_SIZE, _PING.size)
        attempt, sequence, sent_us = _PING.unpack_from(body)
        return cls(
            attempt=attempt,
            sequence=_sequence(sequence),
            sent_us=sent_us,
            next_s=head[1],
            report=_report(body, _PING.size),
            size=len(head) + len(body),
        )


class Pong(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The answer to one ping: when it came and when this left, by the answering clock."""

    attempt: int = 0
    sequence: int
    received_us: int
    sent_us: int
    report: PingReport
    size: int = SMALL_SIZE

    def serialize(self) -> tuple[bytes, bytes]:
        """Head and body."""
        fields = _PONG.pack(self.attempt, self.sequence, self.received_us, self.sent_us)
        return bytes((PONG,)), _padded(fields, self.report, self.size - _PONG_HEAD_SIZE)

    @classmethod
    def parse(cls, head: bytes, body: bytes) -> Self:
        """Read one PONG, or raise DecodeError."""
        _check(head, body, PONG, _PONG_HEAD_SIZE, _PONG.size)
        attempt, sequence, received_us, sent_us = _PONG.unpack_from(body)
        return cls(
            attempt=attempt,
            sequence=_sequence(sequence),
            received_us=received_us,
            sent_us=sent_us,
            report=_report(body, _PONG.size),
            size=len(head) + len(body),
        )


def _padded(fields: bytes, report: PingReport, size: int) -> bytes:
    told = _REPORT.pack(report.heard, report.history, report.received_size)
    return (fields + told).ljust(size, b"\0")


def _check(head: bytes, body: bytes, frame_type: int, head_size: int, fields_size: int) -> None:
    size = len(head) + len(body)
    if len(head) != head_size or head[0] != frame_type or not SMALL_SIZE <= size <= DATA_SIZE:
        raise DecodeError(f"{size} bytes under a head of {len(head)} cannot be a beat")
    if any(memoryview(body)[fields_size + _REPORT.size :]):
        raise DecodeError("the padding of a beat must be zero")


def _sequence(value: int) -> int:
    if value == 0:
        raise DecodeError("beats are numbered from 1")
    return value


def _report(body: bytes, offset: int) -> PingReport:
    heard, history, received_size = _REPORT.unpack_from(body, offset)
    # The highest sequence itself has come, and nothing before the first.
    possible = (1 << min(heard, HISTORY_SIZE)) - 1
    if history & ~possible or (heard and not history & 1):
        raise DecodeError("the history of beats contradicts itself")
    return PingReport(heard, history, received_size)
