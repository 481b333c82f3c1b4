"""Datagrams that wait for a path: sent once, before their deadline, or dropped."""

from collections import Counter, deque

import msgspec

from rookery.errors import UsageError
from rookery.mesh.tunnel.paths.outbound_path import OutboundPath
from rookery.mesh.tunnel.paths.path import TunnelPathKind
from rookery.wire.mesh.forward import DatagramClass
from rookery.wire.mesh.tunnel_frames import DATAGRAM_HEADER_SIZE, DATAGRAM_SIZE_MAX
from rookery.wire.mesh.tunnel_packet import HEAD_SIZE, PREFIX_SIZE

OVERHEAD_SIZE = HEAD_SIZE + PREFIX_SIZE + DATAGRAM_HEADER_SIZE

_QUEUED_MAX = 65536  # bytes below a stream, for datagrams that may still take it


class QueuedDatagram(msgspec.Struct, frozen=True, gc=False):
    """One datagram."""

    data: bytes
    datagram_class: DatagramClass
    expires_at: float


class DatagramQueue:
    """In order of sending; every fate is counted."""

    __slots__ = ("_max", "fates", "waiting")

    def __init__(self, datagrams_max: int) -> None:
        self.fates: Counter[str] = Counter()
        self._max = datagrams_max
        self.waiting: deque[QueuedDatagram] = deque()

    def add(self, data: bytes, datagram_class: DatagramClass, expires_at: float) -> None:
        if len(data) > DATAGRAM_SIZE_MAX:
            raise UsageError(f"a datagram of {len(data)} bytes fits no packet")
        if len(self.waiting) == self._max:
            self.waiting.popleft()  # the oldest is worth least
            self.fates["dropped_queue"] += 1
        self.waiting.append(QueuedDatagram(data, datagram_class, expires_at))

    def next_for(self, paths: list[OutboundPath], now: float) -> tuple[OutboundPath, bytes] | None:
        """The next datagram and its path; drops those that are late or too large for every path."""
        while self.waiting:
            first = self.waiting[0]
            if first.expires_at < now and first.datagram_class is not DatagramClass.RELIABLE_OK:
                self.waiting.popleft()
                self.fates["dropped_deadline"] += 1
                continue
            allowed = [path for path in paths if _may_take(path, first)]
            if not allowed:
                self.waiting.popleft()
                self.fates["dropped_no_way"] += 1
                continue
            free = [path for path in allowed if path.has_room(now)]
            if not free:
                return None
            self.waiting.popleft()
            self.fates["sent"] += 1
            return min(free, key=_preference), first.data
        return None


def _may_take(path: OutboundPath, datagram: QueuedDatagram) -> bool:
    if len(datagram.data) + OVERHEAD_SIZE > path.spec.mtu:
        return False
    if (
        path.spec.kind is TunnelPathKind.DATAGRAM
        or datagram.datagram_class is DatagramClass.RELIABLE_OK
    ):
        return True
    return datagram.datagram_class is DatagramClass.FALLBACK and path.in_flight <= _QUEUED_MAX


def _preference(path: OutboundPath) -> tuple[bool, float]:
    return path.spec.kind is TunnelPathKind.STREAM, path.round_trip.smoothed_s
