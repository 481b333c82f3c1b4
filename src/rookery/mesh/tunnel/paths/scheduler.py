"""Scheduler: which path the next packet takes, and why.

auto       the path by which it arrives first. When that one is busy another path takes it, but
           only if so much waits that the first path alone would not be done sooner, and if the
           credit lets the first path go on meanwhile (the blocking guard)
single     the path of the shortest round trip, for as long as it lives
redundant  every path
weighted   by prescribed shares
"""

from collections import Counter
from collections.abc import Sequence
from enum import Enum
from typing import Final

from rookery.mesh.tunnel.paths.outbound_path import OutboundPath

PATHS_MAX: Final = 3  # used at once


class Mode(Enum):
    """How paths are used."""

    AUTO = "auto"
    SINGLE = "single"
    REDUNDANT = "redundant"
    WEIGHTED = "weighted"


class Scheduler:
    """Chooses paths by the mode, and counts its reasons."""

    __slots__ = ("_single", "_used", "decisions", "mode")

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self.decisions: Counter[str] = Counter()
        self._single: OutboundPath | None = None
        self._used: dict[int, float] = {}  # by path: bytes over its weight

    def nearest(self, paths: Sequence[OutboundPath]) -> OutboundPath | None:
        """The path for small, urgent packets, regardless of windows."""
        if self.mode is Mode.SINGLE:
            return self._kept(paths)
        return min(paths, key=_round_trip_s, default=None)

    def choose(
        self, paths: Sequence[OutboundPath], backlog: float, credit: int, now: float
    ) -> OutboundPath | None:
        """The path for the next packet of stream data; None when it is better to wait."""
        if not paths:
            return None
        match self.mode:
            case Mode.AUTO:
                return self._earliest(paths, backlog, credit, now)
            case Mode.SINGLE:
                path = self._kept(paths)
                return path if path is not None and path.has_room(now) else None
            case Mode.REDUNDANT:
                return self._first_there(paths, now)
            case Mode.WEIGHTED:
                return self._least_used(paths, now)

    def _earliest(
        self, paths: Sequence[OutboundPath], backlog: float, credit: int, now: float
    ) -> OutboundPath | None:
        if len(paths) > PATHS_MAX:
            paths = sorted(paths, key=_round_trip_s)[:PATHS_MAX]
        arrivals = [(path.arrival_s(path.packet_size, now), path) for path in paths]
        soonest_s, soonest = min(arrivals, key=_first)
        if soonest.has_room(now):
            self.decisions["earliest delivery"] += 1
            return soonest
        free = [pair for pair in arrivals if pair[1].has_room(now)]
        if not free:
            return None
        later_s, other = min(free, key=_first)
        # What the best path alone would have delivered by the time this packet is there.
        meanwhile = soonest.rate * (later_s - soonest_s)
        if meanwhile > backlog:
            self.decisions["waited: the best path will be done sooner"] += 1
            return None
        if meanwhile > credit:
            self.decisions["waited: it would block the reader"] += 1
            return None
        self.decisions["beside the best path, which is busy"] += 1
        return other

    def _kept(self, paths: Sequence[OutboundPath]) -> OutboundPath | None:
        if self._single is None or self._single not in paths:
            self._single = min(paths, key=_round_trip_s, default=None)
            self.decisions["another single path"] += 1
        return self._single

    def _first_there(self, paths: Sequence[OutboundPath], now: float) -> OutboundPath | None:
        free = [
            (path.arrival_s(path.packet_size, now), path) for path in paths if path.has_room(now)
        ]
        if not free:
            return None
        self.decisions["every path"] += 1
        return min(free, key=_first)[1]

    def _least_used(self, paths: Sequence[OutboundPath], now: float) -> OutboundPath | None:
        """The path that is furthest below its share; None while that one has no room."""
        newcomer = max(self._used.values(), default=0.0)
        self._used = {path.spec.id: self._used.get(path.spec.id, newcomer) for path in paths}
        path = min(paths, key=lambda path: self._used[path.spec.id])
        if not path.has_room(now):
            return None
        self._used[path.spec.id] += path.packet_size / path.spec.weight
        self.decisions["by shares"] += 1
        return path


def _first(pair: tuple[float, OutboundPath]) -> float:
    return pair[0]


def _round_trip_s(path: OutboundPath) -> float:
    return path.round_trip.smoothed_s
