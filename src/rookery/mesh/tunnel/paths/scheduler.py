"""Scheduler: which way the next packet takes, and why.

auto       the way by which it arrives first. When that one is busy another way takes it, but
           only if so much waits that the first way alone would not be done sooner, and if the
           credit lets the first way go on meanwhile (the blocking guard)
single     the way of the shortest round trip, for as long as it lives
redundant  every way
weighted   by prescribed shares
"""

from collections import Counter
from collections.abc import Sequence
from enum import Enum
from typing import Final

from rookery.mesh.tunnel.paths.outbound_path import OutboundPath

PATHS_MAX: Final = 3  # used at once


class Mode(Enum):
    """How ways are used."""

    AUTO = "auto"
    SINGLE = "single"
    REDUNDANT = "redundant"
    WEIGHTED = "weighted"


class Scheduler:
    """Chooses, and counts its reasons."""

    __slots__ = ("_single", "_used", "decisions", "mode")

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self.decisions: Counter[str] = Counter()
        self._single: OutboundPath | None = None
        self._used: dict[int, float] = {}  # by way: bytes over its weight

    def nearest(self, ways: Sequence[OutboundPath]) -> OutboundPath | None:
        """For what is small and must arrive soon, whatever the windows say."""
        if self.mode is Mode.SINGLE:
            return self._kept(ways)
        return min(ways, key=_round_trip_s, default=None)

    def choose(
        self, ways: Sequence[OutboundPath], backlog: float, credit: int, now: float
    ) -> OutboundPath | None:
        """The way for the next packet of streams; None: it is better to wait."""
        if not ways:
            return None
        match self.mode:
            case Mode.AUTO:
                return self._earliest(ways, backlog, credit, now)
            case Mode.SINGLE:
                way = self._kept(ways)
                return way if way is not None and way.has_room(now) else None
            case Mode.REDUNDANT:
                return self._first_there(ways, now)
            case Mode.WEIGHTED:
                return self._least_used(ways, now)

    def _earliest(
        self, ways: Sequence[OutboundPath], backlog: float, credit: int, now: float
    ) -> OutboundPath | None:
        if len(ways) > PATHS_MAX:
            ways = sorted(ways, key=_round_trip_s)[:PATHS_MAX]
        arrivals = [(way.arrival_s(way.packet_size, now), way) for way in ways]
        soonest_s, soonest = min(arrivals, key=_first)
        if soonest.has_room(now):
            self.decisions["earliest delivery"] += 1
            return soonest
        free = [pair for pair in arrivals if pair[1].has_room(now)]
        if not free:
            return None
        later_s, other = min(free, key=_first)
        # What the best way alone would have delivered by the time this packet is there.
        meanwhile = soonest.rate * (later_s - soonest_s)
        if meanwhile > backlog:
            self.decisions["waited: the best way will be done sooner"] += 1
            return None
        if meanwhile > credit:
            self.decisions["waited: it would block the reader"] += 1
            return None
        self.decisions["beside the best way, which is busy"] += 1
        return other

    def _kept(self, ways: Sequence[OutboundPath]) -> OutboundPath | None:
        if self._single is None or self._single not in ways:
            self._single = min(ways, key=_round_trip_s, default=None)
            self.decisions["another single way"] += 1
        return self._single

    def _first_there(self, ways: Sequence[OutboundPath], now: float) -> OutboundPath | None:
        free = [(way.arrival_s(way.packet_size, now), way) for way in ways if way.has_room(now)]
        if not free:
            return None
        self.decisions["every way"] += 1
        return min(free, key=_first)[1]

    def _least_used(self, ways: Sequence[OutboundPath], now: float) -> OutboundPath | None:
        """Who has had least of its share is waited for."""
        newcomer = max(self._used.values(), default=0.0)
        self._used = {way.way.id: self._used.get(way.way.id, newcomer) for way in ways}
        way = min(ways, key=lambda way: self._used[way.way.id])
        if not way.has_room(now):
            return None
        self._used[way.way.id] += way.packet_size / way.way.weight
        self.decisions["by shares"] += 1
        return way


def _first(pair: tuple[float, OutboundPath]) -> float:
    return pair[0]


def _round_trip_s(way: OutboundPath) -> float:
    return way.round_trip.smoothed_s
