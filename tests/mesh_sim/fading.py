r"""Fourteen nights of a small mesh, one of whose links fades in each of them.

          1
    5 ms / \ 60 ms, fades          packets from 0 to 2 go over 1 by day, which costs 66 ms,
        0   2                      against 75 ms over 3
   37 ms \ / 37 ms
          3

What is simulated, of each night, is the stretch around the fade: everybody starts and measures for
10 s, as a day of measuring would tell nothing else; then packets go from 0 to 2, in the last 5 s of
the hour before, in 12 s of the hour of the fade, in the 20 s of the fade itself and 3 s after it.
The rest of the day is left out; where an analysis asks how it was, it was as in those first 5 s.
Nothing is carried from night to night but the samples.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from random import Random
from statistics import fmean, median_low

import msgspec

from rookery.sim.mesh.topology import Pair, Topology
from rookery.sim.mesh.world import MeshWorld, ip
from rookery.sim.network.network import Conditions
from rookery.wire.mesh.advice import Advice, AdviceWindow, LinkAdvice
from rookery.wire.mesh.forward import DatagramClass

SEED = 20_261_116
NIGHTS = 14
SOURCE, TARGET = 0, 2
FADING: Pair = (1, 2)
RING = Topology(4, {(0, 1): 0.005, (1, 2): 0.060, (2, 3): 0.037, (0, 3): 0.037})

HOUR_S = 3600
DAY_S = 24 * HOUR_S
FADE_HOUR = 2
MIDNIGHT_S = 1_800_057_600 // DAY_S * DAY_S  # the first one after the world's beginning

SETTLE_S, BEFORE_S, EARLY_S, FADE_S, AFTER_S = 10.0, 5.0, 12.0, 20.0, 3.0
EVERY_S = 0.2  # a packet
SAMPLE_S = 5.0  # a look at what the links lose
LOSS = 0.6

WEIGHTS = (100, 80, 64, 51, 41, 33, 26)  # of a day back, two, …
DAYS_MIN, WORSE = 3, 1.1


class Sample(msgspec.Struct, frozen=True):
    """What one end of a link said of it."""

    node: str
    peer: str
    unix_s: int
    loss: float
    rtt_s: float


class Night:
    """One night of the mesh, with its wall clock and what was observed in it."""

    def __init__(self, number: int, seed: int = SEED) -> None:
        self.world = MeshWorld(seed, topology=RING)  # the same members every night,
        self.world.random.seed(seed + number)  # and another course of events
        self.samples: list[Sample] = []
        self.sent = 0
        chance = Random(seed + number)  # the same fade, whatever else happens
        self._early_s = EARLY_S * chance.uniform(0.8, 1.2)
        self._loss = LOSS * chance.uniform(0.7, 1.3)
        self._start_s = MIDNIGHT_S + number * DAY_S + FADE_HOUR * HOUR_S
        self._set_clocks(self._start_s - HOUR_S / 2)
        self.world.converge(60)
        source = self.world.members[SOURCE]
        source.core.reach(self.hashname(TARGET), self.world.now)
        source.due()
        self.world.run(SETTLE_S)
        self._set_clocks(self._start_s - BEFORE_S)

    def run(self) -> "Night":
        """All there is of it."""
        for seconds, loss in (
            (BEFORE_S + self._early_s, 0.0),
            (FADE_S, self._loss),
            (AFTER_S, 0.0),
        ):
            self._weather(loss)
            self.talk(seconds)
        self.world.run(1.0)  # for those on their way
        return self

    @property
    def lost(self) -> int:
        return self.sent - len(self.world.members[TARGET].datagrams)

    def hashname(self, number: int) -> str:
        return self.world.members[number].hashname

    @property
    def route(self) -> list[int]:
        """The way of the packets now."""
        core = self.world.members[SOURCE].core
        chosen = core.explain(self.hashname(TARGET), self.world.now).chosen
        assert chosen is not None
        return [self.world.numbers[node] for node in chosen.route.nodes]

    @property
    def unix_s(self) -> int:
        return self.world.members[SOURCE].endpoint.wall(self.world.now)

    def heed(self, artifact: bytes | None, advisors: Iterable[str]) -> None:
        """Every member is given the same file."""
        for member in self.world.members.values():
            member.core.cost_advice.advisors = frozenset(advisors)
            member.core.cost_advice.heed(artifact)

    def _set_clocks(self, unix_s: float) -> None:
        for member in self.world.members.values():
            member.endpoint.set_clock(unix_s, self.world.now)

    def _weather(self, loss: float) -> None:
        one, other = FADING
        conditions = Conditions(delay_s=RING.delays_s[FADING], loss=loss)
        self.world.network.change(conditions, ip(one), ip(other))
        self.world.network.change(conditions, ip(other), ip(one))

    def talk(self, seconds: float) -> None:
        """Packets all the time, and a look at the links now and then."""
        source, target = self.world.members[SOURCE], self.hashname(TARGET)
        ends_s, sample_s = self.world.now + seconds, self.world.now
        while self.world.now < ends_s:
            payload = b"%d" % self.sent
            self.sent += 1
            source.core.send_datagram(target, payload, self.world.now, DatagramClass.DROP)
            source.due()
            if self.world.now >= sample_s:
                sample_s += SAMPLE_S
                self.samples += self._look()
            self.world.run(EVERY_S)

    def _look(self) -> Iterator[Sample]:
        """What each end says of the path that it would take, which is how nodes report links."""
        now = self.world.now
        for member in self.world.members.values():
            for neighbour in member.core.neighbours.values():
                rows = [row for row in neighbour.paths(now) if row.cost_us is not None]
                best = min(rows, key=lambda row: row.cost_us or 0)
                loss = 1 - (1 - best.loss_in) * (1 - best.loss_out)
                peer = neighbour.member.hashname
                yield Sample(member.hashname, peer, self.unix_s, loss, best.rtt_s or 0.0)


Hours = dict[int, float]  # since 1970


class Hour(msgspec.Struct, frozen=True):
    """How a link was in one hour, by the means of both ends' samples."""

    loss: float
    rtt_s: float


def advice_from(samples: Iterable[Sample], realm: bytes, hour: int) -> Advice:
    """What is to be expected of the links in this hour, as the lake defines it.

    Of each hour: 1 + 10 × loss above the link's median + round trip above its median as a share of
    it, between 1 and 2. To come: the weighted median of the same hour of the last seven days (fewer
    than two weeks are known), each counting 4/5 of the next, from three days and from 1.1 on. Days
    that agree make for an eighth of confidence each, up to four.
    """
    links = []
    for (a, b), hours in factors_of(samples).items():
        evidence = [
            (hours[hour - 24 * day], weight)
            for day, weight in zip(range(1, 8), WEIGHTS, strict=True)
            if hour - 24 * day in hours
        ]
        factor = weighted_median(evidence)
        if len(evidence) >= DAYS_MIN and factor >= WORSE:
            agreeing = sum(each >= WORSE for each, _ in evidence)
            confidence = min(len(evidence), 4) / 4 * agreeing / len(evidence) / 2
            begin_ms = hour * HOUR_S * 1000
            window = AdviceWindow(begin_ms, begin_ms + HOUR_S * 1000, factor, confidence)
            links.append(LinkAdvice(realm, a, b, (window,)))
    return Advice(tuple(links))


def factors_of(samples: Iterable[Sample]) -> dict[tuple[str, str], Hours]:
    """By link, how much worse than usual each hour was."""
    found: dict[tuple[str, str], dict[int, list[Sample]]] = defaultdict(lambda: defaultdict(list))
    for sample in samples:
        ends = min(sample.node, sample.peer), max(sample.node, sample.peer)
        found[ends][sample.unix_s // HOUR_S].append(sample)
    factors = {}
    for ends, by_hour in found.items():
        hours = {
            at: Hour(fmean(each.loss for each in those), fmean(each.rtt_s for each in those))
            for at, those in by_hour.items()
        }
        whole = [each for at, each in hours.items() for _ in range(_standing_for(at))]
        usual_loss = median_low(each.loss for each in whole)
        usual_rtt_s = median_low(each.rtt_s for each in whole)
        factors[ends] = {
            at: min(
                2.0,
                1
                + 10 * max(0.0, each.loss - usual_loss)
                + max(0.0, each.rtt_s - usual_rtt_s) / usual_rtt_s,
            )
            for at, each in hours.items()
        }
    return factors


def weighted_median(values: Iterable[tuple[float, int]]) -> float:
    """The least that half of the weight is at or below; 1 of nothing."""
    ordered = sorted(values)
    total, so_far = sum(weight for _, weight in ordered), 0
    for value, weight in ordered:
        so_far += weight
        if 2 * so_far >= total:
            return value
    return 1.0


def _standing_for(hour: int) -> int:
    """The hour before the fade is like all the others of its day."""
    return 1 if hour % 24 == FADE_HOUR else 23
