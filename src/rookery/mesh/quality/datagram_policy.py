"""Datagrams: what becomes of each, by its class and by what works right now (M11).

    class          datagram path up        no datagram path
    drop           it goes there           dropped
    fallback       it goes there           over the stream, while that is quick enough; else dropped
    reliable_ok    it goes there           over the stream, however long that takes

What is larger than a datagram path carries takes the stream, or is too large where the class does
not allow that. The session alone decides, for each datagram anew, and every fate is counted.
"""

from collections import Counter
from enum import StrEnum

import msgspec

from rookery.wire.mesh.forward import DatagramClass
from rookery.wire.mesh.ping import DATA_SIZE

SIZES_MAX = {
    DatagramClass.DROP: DATA_SIZE,
    DatagramClass.FALLBACK: 60 << 10,
    DatagramClass.RELIABLE_OK: 255 << 10,  # what a frame of a stream holds, with what seals it
}
QUEUE_SIZE_MAX = 64 << 10  # a stream with more to write than this is not quick


class DatagramFate(StrEnum):
    """What became of a datagram."""

    SENT_UDP = "sent_udp"
    SENT_TCP = "sent_tcp"
    DROPPED_NO_UDP = "dropped_no_udp"  # and it might not go by stream
    DROPPED_NO_PATH = "dropped_no_path"  # there is not even a stream
    DROPPED_QUEUE = "dropped_queue"
    DROPPED_DEADLINE = "dropped_deadline"  # it would have come too late
    TOO_LARGE = "too_large"  # the sender has to hear of it

    @property
    def is_sent(self) -> bool:
        return self in (DatagramFate.SENT_UDP, DatagramFate.SENT_TCP)


class StreamEstimate(msgspec.Struct, frozen=True):
    """The stream as a datagram sees it."""

    queue_size: int  # bytes not yet written
    trip_s: float  # one way
    rate: float | None  # bytes per second

    def delay_s(self, size: int) -> float:
        """Seconds until a datagram that is sent now would arrive."""
        return self.trip_s + ((self.queue_size + size) / self.rate if self.rate else 0.0)


class DatagramPolicy:
    """The decisions of one session, counted."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts: Counter[tuple[DatagramClass, DatagramFate]] = Counter()

    def decide(
        self,
        size: int,
        datagram_class: DatagramClass,
        deadline_s: float | None,
        *,
        has_udp: bool,
        stream: StreamEstimate | None,
    ) -> DatagramFate:
        """The fate of `size` bytes, head included, that must be there within `deadline_s`."""
        fate = _fate(size, datagram_class, deadline_s, has_udp=has_udp, stream=stream)
        self.counts[datagram_class, fate] += 1
        return fate


def _fate(
    size: int,
    datagram_class: DatagramClass,
    deadline_s: float | None,
    *,
    has_udp: bool,
    stream: StreamEstimate | None,
) -> DatagramFate:
    may_stream = datagram_class is not DatagramClass.DROP
    if size > SIZES_MAX[datagram_class]:
        return DatagramFate.TOO_LARGE
    is_late = deadline_s is not None and deadline_s <= 0
    if is_late and datagram_class is not DatagramClass.RELIABLE_OK:
        return DatagramFate.DROPPED_DEADLINE
    if has_udp and size <= DATA_SIZE:
        return DatagramFate.SENT_UDP
    if not may_stream:
        return DatagramFate.DROPPED_NO_UDP
    if stream is None:
        return DatagramFate.DROPPED_NO_PATH
    if datagram_class is DatagramClass.RELIABLE_OK:
        return DatagramFate.SENT_TCP
    if stream.queue_size > QUEUE_SIZE_MAX:
        return DatagramFate.DROPPED_QUEUE
    if deadline_s is not None and stream.delay_s(size) > deadline_s:
        return DatagramFate.DROPPED_DEADLINE
    return DatagramFate.SENT_TCP
