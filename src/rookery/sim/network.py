"""A seeded network: delay, jitter, loss, duplication and reordering, drawn from one generator.

The same seed and the same calls give the same network, so a failure replays from its seed.
Connection-oriented paths neither lose nor reorder; everything on them waits for what is ahead.
"""

from collections.abc import Iterator
from random import Random

import msgspec

from rookery.wire.path import NetPath


class Conditions(msgspec.Struct, frozen=True):
    """What one direction of the network does to packets; the default is a good local network."""

    delay_s: float = 0.001
    jitter_s: float = 0.0  # up to this much more, which also reorders
    loss: float = 0.0
    duplication: float = 0.0
    blocked: bool = False


class Network:
    """Decides when each packet arrives, if it does, and how often."""

    def __init__(self, random: Random, conditions: Conditions) -> None:
        self._random = random
        self._default = conditions
        self._between: dict[tuple[str, str], Conditions] = {}
        self._stream_clear_at: dict[tuple[NetPath, NetPath], float] = {}

    def change(self, conditions: Conditions, source: str = "", target: str = "") -> None:
        """New weather, everywhere or from one address to another."""
        if source and target:
            self._between[source, target] = conditions
        else:
            self._default = conditions
            self._between.clear()

    def arrivals(self, source: NetPath, target: NetPath, now: float) -> Iterator[float]:
        """When a packet sent now will arrive."""
        conditions = self._between.get((source.ip, target.ip), self._default)
        if conditions.blocked:
            return
        if not target.kind.startswith("udp"):
            yield self._in_order(source, target, now + self._delay(conditions))
            return
        if self._random.random() >= conditions.loss:
            yield now + self._delay(conditions)
            if self._random.random() < conditions.duplication:
                yield now + self._delay(conditions)

    def _delay(self, conditions: Conditions) -> float:
        return conditions.delay_s + self._random.random() * conditions.jitter_s

    def _in_order(self, source: NetPath, target: NetPath, arrival: float) -> float:
        key = (source, target)
        arrival = max(arrival, self._stream_clear_at.get(key, 0.0))
        self._stream_clear_at[key] = arrival
        return arrival
