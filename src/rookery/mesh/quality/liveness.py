"""Liveness: when to ping a path, and its condition by the answers.

    joining ──data-size answer──▶ up ──2 missed──▶ suspect ──3 missed──▶ down
                                  ▲                   │                   │
                                  ├──────answer───────┘                   │
                                  └────────2 data-size answers in a row───┘

A ping is missed when its answer is late, and forgiven when that or a later answer comes after all.
Only an answer of data size makes a path usable, because some paths pass small packets and drop
large ones. So a data-size ping must be answered every 30 s, and whenever more than a packet's
worth was sent since the last such answer. Until then every ping is of data size.

    each    while
    1 s     joining; for 10 s after traffic either way; after a missed ping
    2 s     down
    15 s    idle
"""

from collections import deque
from enum import Enum

import msgspec

from rookery.errors import ProtocolError
from rookery.wire.mesh.ping import DATA_SIZE, SMALL_SIZE

BUSY_INTERVAL_S = 1.0
DOWN_INTERVAL_S = 2.0
IDLE_INTERVAL_S = 15.0
BUSY_S = 10.0  # how long traffic keeps the pings quick
PROOF_INTERVAL_S = 30.0
SUSPECT_MISSED = 2
DOWN_MISSED = 3
REVIVING_ANSWERS = 2

_WAITING_MAX = 64
_PATIENCE_S = 1.0


class PathCondition(Enum):
    """The condition of a path, and of a neighbour by its best path."""

    JOINING = "joining"  # never yet proved
    UP = "up"
    SUSPECT = "suspect"  # send here and elsewhere
    DOWN = "down"


class LivenessPing(msgspec.Struct, frozen=True, gc=False):
    """One ping to send now."""

    sequence: int
    size: int
    next_s: int


class _AwaitedPing(msgspec.Struct, frozen=True, gc=False):
    sequence: int
    sent_s: float
    size: int


class PathLiveness:
    """The pings of one path."""

    __slots__ = (
        "_answers",
        "_busy_until",
        "_missed",
        "_next_s",
        "_proven_s",
        "_sent_s",
        "_sequence",
        "_unproven_size",
        "_waiting",
        "condition",
        "patience_s",
    )

    def __init__(self, now: float) -> None:
        self.condition = PathCondition.JOINING
        self.patience_s = _PATIENCE_S  # how long an answer may take
        self._sequence = 0
        self._waiting: deque[_AwaitedPing] = deque(
            maxlen=_WAITING_MAX
        )  # later than the last answer
        self._missed = 0  # how many of them are late
        self._answers = 0  # in a row, of data size, since the path was down
        self._sent_s = now - BUSY_INTERVAL_S
        self._next_s = now
        self._busy_until = now
        self._proven_s: float | None = None
        self._unproven_size = 0  # bytes that went out since the last proof

    @property
    def sequence(self) -> int:
        """Of the last ping that was sent."""
        return self._sequence

    @property
    def missed(self) -> int:
        return self._missed

    @property
    def proven_s(self) -> float | None:
        """When a data-size packet last went both ways."""
        return self._proven_s

    @property
    def deadline(self) -> float:
        """When `tick` has something to do."""
        if self._missed < min(len(self._waiting), DOWN_MISSED):
            return min(self._next_s, self._waiting[self._missed].sent_s + self.patience_s)
        return self._next_s

    def loaded(self, size_out: int) -> None:
        """Note bytes sent over the path other than pings."""
        self._unproven_size += size_out

    def carried(self, now: float) -> None:
        """Note traffic in either direction."""
        self._busy_until = now + BUSY_S
        self._hasten(now)

    def ask(self, now: float) -> None:
        """Doubt the path: the next ping is due now, and the following ones come quickly."""
        self._busy_until = now + BUSY_S
        if self.condition is not PathCondition.DOWN:
            self._next_s = now

    def tick(self, now: float) -> LivenessPing | None:
        """Count missed pings; the ping to send, if one is due."""
        self._count_missed(now)
        if now < self._next_s:
            return None
        next_s = now + self._interval_s(now)
        return self.probe(DATA_SIZE if self._owes_proof(next_s) else SMALL_SIZE, now)

    def probe(self, size: int, now: float) -> LivenessPing:
        """A ping out of turn; the next in turn comes an interval after it."""
        interval_s = self._interval_s(now)
        self._sequence += 1
        self._waiting.append(_AwaitedPing(self._sequence, now, size))
        self._sent_s, self._next_s = now, now + interval_s
        return LivenessPing(self._sequence, size, int(interval_s))

    def answered(self, sequence: int, size: int, now: float) -> None:
        """Note an answer; it also forgives the pings before it."""
        waiting = next((ping for ping in self._waiting if ping.sequence == sequence), None)
        if waiting is None:
            return  # a later one was answered before it
        if size != waiting.size:
            raise ProtocolError(f"{size} bytes answer a beat of {waiting.size}")
        while self._waiting and self._waiting[0].sequence <= sequence:
            self._waiting.popleft()
        if size == DATA_SIZE:
            self._proven_s, self._unproven_size = now, 0
            self._answers += 1
            needed = REVIVING_ANSWERS if self.condition is PathCondition.DOWN else 1
            if self._answers >= needed:
                self.condition = PathCondition.UP
            else:
                self._next_s = min(self._next_s, max(self._sent_s + BUSY_INTERVAL_S, now))
        self._count_missed(now)

    def _owes_proof(self, next_s: float) -> bool:
        return (
            self._proven_s is None
            or self.condition is PathCondition.DOWN
            or self._unproven_size >= DATA_SIZE
            or next_s > self._proven_s + PROOF_INTERVAL_S
        )

    def _count_missed(self, now: float) -> None:
        # The deadline is this very sum, so that it is reached when it has come.
        self._missed = sum(ping.sent_s + self.patience_s <= now for ping in self._waiting)
        if self._missed:
            self._answers = 0
            self._hasten(now)
        if self.condition in (PathCondition.UP, PathCondition.SUSPECT):
            if self._missed >= DOWN_MISSED:
                self.condition = PathCondition.DOWN
            elif self._missed >= SUSPECT_MISSED:
                self.condition = PathCondition.SUSPECT
            else:
                self.condition = PathCondition.UP

    def _hasten(self, now: float) -> None:
        """The next ping need not wait for the end of an idle interval."""
        if self.condition is not PathCondition.DOWN:
            self._next_s = min(self._next_s, max(self._sent_s + BUSY_INTERVAL_S, now))

    def _interval_s(self, now: float) -> float:
        if self.condition is PathCondition.DOWN:
            return DOWN_INTERVAL_S
        if self.condition is PathCondition.JOINING or self._missed or now < self._busy_until:
            return BUSY_INTERVAL_S
        return IDLE_INTERVAL_S
