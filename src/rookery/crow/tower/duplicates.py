"""Duplicates: what the receiver of QoS 2 remembers, so that a message is handed on once.

    new ─▶ unconfirmed ─ACK22, or ACK21 sent 5 times──▶ remembered ─15 s─▶ forgotten
             │ ▲
             └─┘ every timer: ACK21 again

A copy has the number, the source and the content of the first. The same number with other content
is a sender that began to count anew: its message is handed on, and both are remembered, since late
copies of either may come.

Nothing is handed on that could not be remembered: when the memory is full, the packet is not even
acknowledged and will come again. Each source is left a share; beyond it the oldest memories go, and
only of messages whose sender repeats them no more.
"""

from collections.abc import Callable
from enum import Enum, auto
from typing import Final

from rookery.crow.limits import DuplicateLimits
from rookery.crow.timer_queues import TimerQueues
from rookery.crow.tower.delivery import TRANSMISSIONS
from rookery.wire.crow.packet import ACK21, CrowPacket

REMEMBERED_S: Final = 15.0


class DuplicateVerdict(Enum):
    """What to do with a packet of QoS 2."""

    NEW = auto()  # acknowledge and hand on
    COPY = auto()  # acknowledge only
    UNWELCOME = auto()  # neither


NEW: Final = DuplicateVerdict.NEW  # a name of an enumeration is looked up each time
COPY: Final = DuplicateVerdict.COPY


class _SeenPacket:
    __slots__ = ("ack", "due", "key", "repeats_left", "seqid", "source")

    def __init__(self, source: "_DuplicateSource", key: int, ack: CrowPacket) -> None:
        self.source = source
        self.key = key
        self.seqid = ack.seqid
        self.ack: CrowPacket | None = ack  # None: confirmed, or repeated often enough
        self.repeats_left = TRANSMISSIONS - 1
        self.due: float | None = None


class _DuplicateSource:
    __slots__ = ("address", "seen", "unconfirmed")

    def __init__(self, address: bytes) -> None:
        self.address = address
        self.seen: dict[int, _SeenPacket] = {}  # by hash of number and content, oldest first
        self.unconfirmed: dict[int, _SeenPacket] = {}  # by number


class Duplicates:
    """The receiving side of QoS 2."""

    __slots__ = (
        "_count",
        "_greedy",
        "_per_source_max",
        "_remembered_max",
        "_share",
        "_sources",
        "_timers",
        "_transmit",
        "_unconfirmed_max",
    )

    def __init__(
        self, limits: DuplicateLimits, transmit: Callable[[list[CrowPacket]], None]
    ) -> None:
        self._remembered_max = limits.remembered_max
        self._per_source_max = limits.per_source_max
        self._unconfirmed_max = limits.unconfirmed_per_source_max  # per source
        self._share = limits.share
        self._transmit = transmit
        self._sources: dict[bytes, _DuplicateSource] = {}
        self._greedy: dict[bytes, _DuplicateSource] = {}  # those that hold more than their share
        self._count = 0
        self._timers: TimerQueues[_SeenPacket] = TimerQueues()

    def __len__(self) -> int:
        """Packets remembered."""
        return self._count

    @property
    def deadline(self) -> float | None:
        return self._timers.deadline

    def examine(self, packet: CrowPacket, source_address: bytes, now: float) -> DuplicateVerdict:
        """Judge an arrived packet of QoS 2, and acknowledge it unless it is unwelcome."""
        key = hash((packet.seqid, packet.type, packet.data))
        source = self._sources.get(source_address)
        is_copy = source is not None and key in source.seen
        if not is_copy and not self._has_room(source_address):
            return DuplicateVerdict.UNWELCOME
        ack = CrowPacket(ACK21, True, source_address, 0, packet.seqid, 0, packet.ackquant_ms, b"")
        self._transmit([ack])
        if is_copy:
            return COPY
        self._remember(source_address, key, ack, now)
        return NEW

    def confirmed(self, source_address: bytes, seqid: int, now: float) -> bool:
        """ACK22 came; False when nothing waited for it."""
        source = self._sources.get(source_address)
        seen = source.unconfirmed.get(seqid) if source is not None else None
        if seen is None:
            return False
        self._settle(seen, now)
        return True

    def tick(self, now: float) -> None:
        for seen in self._timers.take_due(now):
            if seen.ack is None:
                self._forget(seen)
            elif seen.repeats_left:
                seen.repeats_left -= 1
                self._transmit([seen.ack])
                self._timers.wait(seen, seen.ack.timer_s, now)
            else:
                self._settle(seen, now)

    def _remember(self, source_address: bytes, key: int, ack: CrowPacket, now: float) -> None:
        source = self._sources.get(source_address)
        if source is None:
            source = self._sources[source_address] = _DuplicateSource(source_address)
        former = source.unconfirmed.get(ack.seqid)
        if former is not None:  # no sender is left that would confirm it
            self._settle(former, now)
        seen = source.seen[key] = source.unconfirmed[ack.seqid] = _SeenPacket(source, key, ack)
        self._count += 1
        if len(source.seen) > self._share:
            self._greedy[source_address] = source
        self._timers.wait(seen, ack.timer_s, now)

    def _settle(self, seen: _SeenPacket, now: float) -> None:
        seen.ack = None
        del seen.source.unconfirmed[seen.seqid]
        self._timers.wait(seen, REMEMBERED_S, now)

    def _has_room(self, source_address: bytes) -> bool:
        """Whether one more may be remembered, after making room for it if need be."""
        source = self._sources.get(source_address)
        if source is not None:
            if len(source.unconfirmed) >= self._unconfirmed_max:
                return False
            if len(source.seen) >= self._per_source_max:
                return self._forget_oldest(source)
        if self._count < self._remembered_max:
            return True
        if source is not None and self._forget_oldest(source):
            return True
        return any(self._forget_oldest(greedy) for greedy in list(self._greedy.values()))

    def _forget_oldest(self, source: _DuplicateSource) -> bool:
        for seen in source.seen.values():
            if seen.ack is None:  # at most unconfirmed_per_source_max entries are passed over
                self._forget(seen)
                return True
        return False

    def _forget(self, seen: _SeenPacket) -> None:
        assert seen.ack is None, "a packet that may be repeated must stay known"
        source = seen.source
        seen.due = None
        del source.seen[seen.key]
        self._count -= 1
        if len(source.seen) <= self._share:
            self._greedy.pop(source.address, None)
        if not source.seen:
            del self._sources[source.address]
