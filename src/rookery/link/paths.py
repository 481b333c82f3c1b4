"""The paths of one link: all kept alive, the best one chosen.

A handshake round goes out over every path; what comes back over a path proves it and measures
it. A path that the peer only advertised carries nothing but handshakes until it is proven: a
replayed packet from a forged address must not draw traffic there.

    candidate ──answer or fresh handshake──▶ proven ──missed rounds──▶ silent ──answer──▶ proven

A *monitored* path is proven and distrusted by its monitor (`mesh.quality`), not by handshakes.
"""

from collections.abc import Callable, Iterator
from typing import Final

from rookery.wire.link.path import Path, PeerPath, RoutePath, is_stream

PATHS_MAX: Final = 16
ROUNDS_MISSED_MAX: Final = 2  # from here on a path carries no traffic
ROUNDS_FORGOTTEN: Final = 8  # from here on an advertised path is dropped
_RTT_WEIGHT: Final = 0.125
_SWITCH_FACTOR: Final = 0.7  # another path must be this much quicker,
_SWITCH_GAIN_S: Final = 0.001  # and by this much, before traffic moves
_RELAY_COST_S: Final = 10.0  # any direct path beats any relay
_ROUTE_FACTOR: Final = 1.25  # a route through the mesh must be clearly better than a direct path


class PathState:
    """What we know of one path."""

    __slots__ = (
        "answered_at",
        "answered_s",
        "configured",
        "dialled",
        "distrusted",
        "is_repeated",
        "is_stream",
        "missed",
        "monitored",
        "overdue",
        "path",
        "proven",
        "received_s",
        "rtt",
        "sent_s",
    )

    def __init__(self, path: Path, *, configured: bool) -> None:
        self.path = path
        self.is_stream = is_stream(path)  # packets of any size pass unharmed
        self.configured = configured  # by the user, so never forgotten
        self.dialled = False  # it leads where the peer listens, not back to where it spoke from
        self.monitored = False
        self.distrusted = False  # by its monitor, which measures more often than the rounds do
        self.proven = False
        self.missed = 0  # rounds without an answer
        self.rtt: float | None = None
        self.received_s = 0.0  # when it last brought anything
        self.sent_s: float | None = None  # when the current round went out here, unanswered
        self.overdue = False  # the round had to be repeated
        self.answered_at = 0  # the `at` we last answered here,
        self.answered_s = 0.0  # and when
        self.is_repeated = False  # the peer had to repeat it, as if our answers got lost

    @property
    def is_usable(self) -> bool:
        return self.proven and self.missed < ROUNDS_MISSED_MAX and not self.distrusted

    @property
    def is_unanswered(self) -> bool:
        """Whether handshakes pass in one direction at most, as far as we can tell."""
        return self.overdue or self.is_repeated

    @property
    def is_direct(self) -> bool:
        """Whether it leads to the peer without passing another endpoint."""
        return not isinstance(self.path, PeerPath | RoutePath)

    @property
    def cost(self) -> float:
        cost = self.missed + self.overdue + (1.0 if self.rtt is None else self.rtt)
        match self.path:
            case PeerPath():
                return cost + _RELAY_COST_S
            case RoutePath():
                return cost * _ROUTE_FACTOR + _SWITCH_GAIN_S
            case _:
                return cost

    def measured(self, rtt: float) -> None:
        self.rtt = rtt if self.rtt is None else self.rtt + _RTT_WEIGHT * (rtt - self.rtt)


class Paths:
    """A bounded set of paths and the choice among them."""

    __slots__ = ("_best", "_failed", "_forgotten", "_states", "_usable")

    def __init__(self, forgotten: Callable[[Path], None], failed: Callable[[Path], None]) -> None:
        self._states: dict[Path, PathState] = {}
        self._usable: tuple[Path, ...] = ()
        self._forgotten = forgotten  # called with every path that is removed
        self._failed = failed  # called with every path that is no longer usable
        self._best: PathState | None = None

    def __iter__(self) -> Iterator[PathState]:
        return iter(self._states.values())

    def __len__(self) -> int:
        return len(self._states)

    def __contains__(self, path: object) -> bool:
        return path in self._states

    @property
    def best(self) -> Path | None:
        return self._best.path if self._best is not None else None

    @property
    def best_state(self) -> PathState | None:
        return self._best

    @property
    def is_orphaned(self) -> bool:
        """True if no path is usable but monitored ones, which only accompany another path."""
        return not any(state.is_usable and not state.monitored for state in self._states.values())

    def state(self, path: Path) -> PathState | None:
        return self._states.get(path)

    def add(self, path: Path, *, configured: bool) -> PathState | None:
        """Add a path; None if the set is full and no path may be evicted for it."""
        state = self._states.get(path)
        if state is None:
            if len(self._states) >= PATHS_MAX and not self._evict(configured=configured):
                return None
            state = self._states[path] = PathState(path, configured=configured)
        state.configured |= configured
        return state

    def begin_round(self, now: float) -> None:
        """Begin a round; paths that left the last one unanswered have missed it."""
        for state in list(self._states.values()):
            if state.monitored:
                continue
            state.missed += state.sent_s is not None
            state.sent_s, state.overdue = now, False
            if state.missed >= ROUNDS_FORGOTTEN and not state.configured:
                self._forget(state)
        self._choose()

    def repeat_round(self) -> None:
        """The round is sent again over unanswered paths; being overdue raises their cost."""
        for state in self._states.values():
            state.overdue = state.sent_s is not None
        self._choose()

    def end_round(self) -> None:
        """Count the round as missed on paths that have not answered it."""
        for state in self._states.values():
            if state.sent_s is not None:
                state.missed += 1
                state.sent_s, state.overdue = None, False
        self._choose()

    def answered(self, state: PathState, now: float, *, is_echo: bool) -> None:
        """A fresh handshake or an echo of our round came over this path."""
        # Before the first echo a newer `at` in reply is the best estimate there is; after a
        # repetition it is unknown which copy was answered.
        if state.sent_s is not None and not state.overdue and (is_echo or state.rtt is None):
            state.measured(now - state.sent_s)
        state.proven = True
        state.received_s = now
        state.missed = 0
        state.sent_s, state.overdue = None, False
        self._choose()

    def lose(self, path: Path) -> None:
        """A connection-oriented path is gone; only one the user configured can be dialled again."""
        state = self._states.get(path)
        if state is None:
            return
        state.proven, state.rtt, state.sent_s = False, None, None
        state.distrusted = False
        if not state.configured:
            self._forget(state)
        self._choose()

    def prove(self, path: Path, rtt_s: float) -> None:
        """The monitor of this path has seen it work."""
        state = self._states.get(path)
        if state is not None:
            state.proven, state.missed, state.distrusted = True, 0, False
            state.measured(rtt_s)
            self._choose()

    def distrust(self, path: Path) -> None:
        """Send no traffic here until the monitor proves the path again."""
        state = self._states.get(path)
        if state is not None:
            state.distrusted = True
            self._choose()

    def measure(self, path: Path, rtt_s: float) -> None:
        """Add a measurement of the path's monitor."""
        state = self._states.get(path)
        if state is not None:
            state.measured(rtt_s)
            self._choose()

    def discard(self, path: Path) -> None:
        state = self._states.get(path)
        if state is not None:
            self._forget(state)
            self._choose()

    def silence(self) -> None:
        """The link is down: nothing is proven any more."""
        for state in list(self._states.values()):
            state.proven, state.missed, state.overdue = False, 0, False
            state.distrusted = False
            state.sent_s = state.rtt = None
            if not state.configured:
                self._forget(state)
        self._best = None
        self._usable = ()

    def unanswered(self) -> list[Path]:
        """Where the current round is still without an answer."""
        return [state.path for state in self._states.values() if state.sent_s is not None]

    def direct_for_size(self, size: int, datagram_size_max: int) -> Path | None:
        """The best path that passes no other endpoint and takes a packet of this size."""
        best = self._best
        if best is not None and best.is_direct and (size <= datagram_size_max or best.is_stream):
            return best.path
        direct = [state for state in self._states.values() if state.is_usable and state.is_direct]
        streams = [state for state in direct if state.is_stream]
        fitting = direct if size <= datagram_size_max else streams or direct
        chosen = min(fitting, key=lambda state: state.cost, default=None)
        return chosen.path if chosen is not None else None

    def for_size(self, size: int, datagram_size_max: int) -> Path | None:
        """The best path, or for what no datagram should carry, a stream if one is there."""
        best = self._best
        if best is None:
            return None
        if size <= datagram_size_max or best.is_stream:
            return best.path
        streams = [s for s in self._states.values() if s.is_usable and s.is_stream]
        return min(streams, key=lambda state: state.cost, default=best).path

    def _forget(self, state: PathState) -> None:
        del self._states[state.path]
        if self._best is state:
            self._best = None
        self._forgotten(state.path)

    def _choose(self) -> None:
        usable = [state for state in self._states.values() if state.is_usable]
        before, self._usable = self._usable, tuple(state.path for state in usable)
        self._best = self._chosen(usable)
        for path in before:
            if path not in self._usable:
                self._failed(path)

    def _chosen(self, usable: list[PathState]) -> PathState | None:
        if not usable:
            return None
        candidate = min(usable, key=lambda state: state.cost)
        current = self._best
        if (
            current is None
            or not current.is_usable
            or (candidate.is_direct and not current.is_direct)
            or candidate.cost < min(current.cost * _SWITCH_FACTOR, current.cost - _SWITCH_GAIN_S)
        ):
            return candidate
        return current

    def _evict(self, *, configured: bool) -> bool:
        """Make room: unproven advertised paths first; a usable one only for a configured path."""
        advertised = [state for state in self._states.values() if not state.configured]
        spare = [state for state in advertised if not state.is_usable] or (
            advertised if configured else []
        )
        if not spare:
            return False
        self.discard(max(spare, key=lambda state: state.missed).path)
        return True
