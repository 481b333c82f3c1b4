"""Weather between two ends: what a relay does to what they send, as rules without a clock.

    conditions   delay, jitter, loss and the like, the same in both directions
    flap         up for a while, down for a while, and so on
    is_cut       nothing passes, until it is mended

A datagram without a route is lost. A stream loses nothing: what it carries waits, in order.
"""

from collections.abc import Sequence
from enum import Enum
from random import Random

import msgspec

from rookery.errors import UsageError
from rookery.sim.network.network import Conditions, Pipe


class LinkDirection(Enum):
    THERE = "there"
    BACK = "back"


class LinkFlap(msgspec.Struct, frozen=True, kw_only=True):
    """Comes and goes; a round begins with being up."""

    up_s: float
    down_s: float

    def __post_init__(self) -> None:
        if not (self.up_s > 0 and self.down_s > 0):
            raise UsageError("what flaps is up for a while and down for a while")

    def is_up(self, now: float) -> bool:
        return now % (self.up_s + self.down_s) < self.up_s

    def up_in_s(self, now: float) -> float:
        """How long until it is up; 0 while it is."""
        since_s = now % (self.up_s + self.down_s)
        return 0.0 if since_s < self.up_s else self.up_s + self.down_s - since_s


class Weather(msgspec.Struct, frozen=True, kw_only=True):
    """Of one link."""

    conditions: Conditions = Conditions()
    flap: LinkFlap | None = None


class WeatheredLink:
    """One link in its weather; seeded, so that the same calls have the same fates."""

    def __init__(self, weather: Weather, random: Random) -> None:
        self.is_cut = False
        self.lost = 0  # datagrams
        self._flap = weather.flap
        self._pipes = {direction: Pipe(random) for direction in LinkDirection}
        for pipe in self._pipes.values():
            pipe.set(weather.conditions, frozenset(), 0)

    def is_open(self, now: float) -> bool:
        return not self.is_cut and (self._flap is None or self._flap.is_up(now))

    def opens_in_s(self, now: float) -> float | None:
        """How long nothing passes; None while it is cut, since the end is unknown."""
        if self.is_cut:
            return None
        return 0.0 if self._flap is None else self._flap.up_in_s(now)

    def datagram(self, direction: LinkDirection, size: int, now: float) -> Sequence[float]:
        """When one that is sent now arrives, as often as it does."""
        found = self._pipes[direction].datagram(size, now) if self.is_open(now) else ()
        self.lost += not found
        return found

    def segment(self, direction: LinkDirection, size: int, now: float) -> float:
        """When a piece of a stream arrives, if nothing were ahead of it and the route open."""
        return self._pipes[direction].segment(size, now)
