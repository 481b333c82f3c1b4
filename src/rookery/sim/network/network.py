"""A seeded network: what happens to a packet between two addresses, drawn from one generator.

    change(conditions, source, target)    delay, jitter, loss, rate … from one address to another
    block(source, target, kind)           nothing passes in this direction until `unblock`
    partition(these, those)               nothing passes between the sets, until `heal`

An address may be left out and then stands for any; the most exact answer counts. The same seed and
the same calls give the same network, so a failure replays from its seed. Connection-oriented paths
neither lose nor reorder; everything on them waits for what is ahead, and a loss costs them time.
"""

from collections.abc import Iterable, Sequence
from random import Random

import msgspec

from rookery.wire.link.path import NetPath

QUEUE_SIZE = 256 << 10
_RETRANSMISSIONS_MAX = 16
_RETRANSMISSION_S_MIN = 0.05


class Conditions(msgspec.Struct, frozen=True):
    """What one direction of the network does to packets; the default is a good local network."""

    delay_s: float = 0.001
    jitter_s: float = 0.0  # up to this much more, which also reorders
    loss: float = 0.0
    duplication: float = 0.0
    blocked: bool = False
    reordering: float = 0.0  # this share of the packets
    reordering_s: float = 0.02  # is held back so long
    rate: float = 0.0  # bytes a second; 0 is no limit
    queue_size: int = QUEUE_SIZE  # bytes that wait for the rate; a datagram that finds it full goes


class Pipe:
    """One direction between two addresses: its conditions, and what waits there for the rate."""

    __slots__ = ("_random", "clear_at", "conditions", "dropped", "is_plain", "stopped", "version")

    def __init__(self, random: Random) -> None:
        self.conditions = Conditions()
        self.stopped: frozenset[str] = frozenset()  # kinds of paths that do not pass; "" is all
        self.is_plain = True  # nothing but delay
        self.version = 0
        self.clear_at = 0.0  # when all that waits for the rate has left
        self.dropped = 0  # by a full queue
        self._random = random

    def set(self, conditions: Conditions, stopped: frozenset[str], version: int) -> None:
        plain = Conditions(delay_s=conditions.delay_s, queue_size=conditions.queue_size)
        self.conditions, self.stopped, self.version = conditions, stopped, version
        self.is_plain = conditions == plain

    def stops(self, kind: str) -> bool:
        return bool(self.stopped) and ("" in self.stopped or kind in self.stopped)

    def datagram(self, size: int, now: float) -> Sequence[float]:
        """When a datagram sent now arrives: once, never or twice."""
        conditions, draw = self.conditions, self._random.random
        if self.is_plain:
            return (now + conditions.delay_s,)
        if conditions.loss and draw() < conditions.loss:
            return ()
        if conditions.rate:
            if (self.clear_at - now) * conditions.rate + size > conditions.queue_size:
                self.dropped += 1
                return ()
            now = self._left(size, now)
        arrival = now + self._delay()
        if conditions.reordering and draw() < conditions.reordering:
            arrival += conditions.reordering_s
        if conditions.duplication and draw() < conditions.duplication:
            return (arrival, now + self._delay())
        return (arrival,)

    def segment(self, size: int, now: float) -> float:
        """When a part of a stream arrives, were nothing ahead of it."""
        conditions, draw = self.conditions, self._random.random
        if self.is_plain:
            return now + conditions.delay_s
        if conditions.rate:
            now = self._left(size, now)
        arrival = now + self._delay()
        if conditions.loss:
            again_s = max(2 * conditions.delay_s, _RETRANSMISSION_S_MIN)
            for _ in range(_RETRANSMISSIONS_MAX):
                if draw() >= conditions.loss:
                    break
                arrival += again_s
        return arrival

    def queued(self, now: float) -> int:
        """Bytes that wait for the rate."""
        return max(0, int((self.clear_at - now) * self.conditions.rate))

    def _left(self, size: int, now: float) -> float:
        self.clear_at = max(self.clear_at, now) + size / self.conditions.rate
        return self.clear_at

    def _delay(self) -> float:
        conditions = self.conditions
        if not conditions.jitter_s:
            return conditions.delay_s
        return conditions.delay_s + self._random.random() * conditions.jitter_s


class Network:
    """The conditions between all addresses."""

    def __init__(self, random: Random, conditions: Conditions) -> None:
        self._random = random
        self._conditions: dict[tuple[str, str], Conditions] = {("", ""): conditions}
        self._blocked: dict[tuple[str, str], frozenset[str]] = {}
        self._group: dict[str, int] = {}
        self._pipes: dict[tuple[str, str], Pipe] = {}
        self._stream_clear_at: dict[tuple[NetPath, NetPath], float] = {}
        self.version = 1

    def change(self, conditions: Conditions, source: str = "", target: str = "") -> None:
        """New weather, everywhere or from one address to another; either may be left out."""
        if not source and not target:
            self._conditions.clear()
        self._conditions[source, target] = conditions
        self.version += 1

    def block(self, source: str = "", target: str = "", kind: str = "") -> None:
        """Block this direction, or one kind of path in it."""
        stopped = self._blocked.get((source, target), frozenset())
        self._blocked[source, target] = stopped | {kind}
        self.version += 1

    def unblock(self, source: str = "", target: str = "", kind: str = "") -> None:
        """Undo the very same `block`."""
        stopped = self._blocked.get((source, target), frozenset())
        self._blocked[source, target] = stopped - {kind}
        self.version += 1

    def partition(self, *groups: Iterable[str]) -> None:
        """Nothing passes from one group to another; addresses in no group reach all."""
        self._group = {ip: number for number, group in enumerate(groups) for ip in group}
        self.version += 1

    def heal(self) -> None:
        """Lift every block and partition; delays and losses stay as they are."""
        self._blocked.clear()
        self.partition()

    def touch(self) -> None:
        """Invalidate cached pipes after a change outside the network."""
        self.version += 1

    def pipe(self, source: str, target: str) -> Pipe:
        """One direction between two addresses, as things are now."""
        pipe = self._pipes.get((source, target))
        if pipe is None:
            pipe = self._pipes[source, target] = Pipe(self._random)
        return self.current(pipe, source, target)

    def current(self, pipe: Pipe, source: str, target: str) -> Pipe:
        """The same pipe, brought up to date if anything has changed."""
        if pipe.version != self.version:
            scopes = ((source, target), (source, ""), ("", target), ("", ""))
            conditions = next(
                self._conditions[scope] for scope in scopes if scope in self._conditions
            )
            stopped = frozenset().union(*(self._blocked.get(scope, ()) for scope in scopes))
            if conditions.blocked or self._is_parted(source, target):
                stopped |= {""}
            pipe.set(conditions, stopped, self.version)
        return pipe

    def arrivals(
        self, source: NetPath, target: NetPath, now: float, size: int = 0
    ) -> Sequence[float]:
        """When a packet sent now will arrive, as often as it does."""
        pipe = self.pipe(source.ip, target.ip)
        if pipe.stops(target.kind):
            return ()
        if target.is_datagram:
            return pipe.datagram(size, now)
        return (self._in_order(source, target, pipe.segment(size, now)),)

    def _is_parted(self, source: str, target: str) -> bool:
        here, there = self._group.get(source), self._group.get(target)
        return here is not None and there is not None and here != there

    def _in_order(self, source: NetPath, target: NetPath, arrival: float) -> float:
        key = (source, target)
        arrival = max(arrival, self._stream_clear_at.get(key, 0.0))
        self._stream_clear_at[key] = arrival
        return arrival
