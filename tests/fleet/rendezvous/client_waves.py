"""A herd of clients in virtual time: waves of them, placed on servers that have a day of their own.

Each of four servers has, beside those that the hub places, clients of its own, who come within half
an hour and leave after three, every day at the same time, each server's at another. The hub's
clients come in waves every ten minutes and stay for two to four hours. Servers report every 20 s;
what the hub promised in between it counts as reserved. The placement is the very core that ships.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from random import Random
from statistics import fmean

import msgspec

from rookery.fleet.entry import server_id
from rookery.fleet.rendezvous.placement import GrowthForecast as Expected
from rookery.fleet.rendezvous.placement import ServerLoad, choose
from rookery.wire import base32
from rookery.wire.fleet.forecast import Forecast, ServerForecast

SEED = 20_261_116
SEATS = 400
DAY_S, HOUR_S = 86_400, 3600
WAVE_S, WAVE = 600, 16
STAY_S = (2 * HOUR_S, 4 * HOUR_S)
OWN_CLIENTS = 0.4  # of the seats, at the height of a server's day
RISE_S, HEIGHT_S = 1800, 3 * HOUR_S
BEGIN_S = 1_800_057_600 // DAY_S * DAY_S

SERVERS = tuple(base32.encode(bytes([number]) * 32) for number in range(1, 5))
HIGH_AT_H = dict(zip(SERVERS, (3, 9, 15, 21), strict=True))

Ask = Callable[[Sequence[ServerLoad], float], Expected | None]


class Sample(msgspec.Struct, frozen=True):
    server: str
    at_s: int
    share: float


class Day(msgspec.Struct):
    """How it went."""

    samples: list[Sample]
    unevenness: float = 0.0  # the most that a choice was fuller than the emptiest server

    @property
    def peak(self) -> float:
        return max(sample.share for sample in self.samples)

    @property
    def mean(self) -> float:
        return fmean(sample.share for sample in self.samples)


def nobody(_: Sequence[ServerLoad], __: float) -> None:
    """There are no forecasts."""


def day(ask: Ask, number: int = 0, seed: int = SEED) -> Day:
    """From midnight to midnight, after six hours in which the servers fill."""
    chance = Random(seed + number)
    begin_s = BEGIN_S + number * DAY_S
    leaving: list[tuple[float, str]] = []
    found = Day([])
    for at_s in range(begin_s - 6 * HOUR_S, begin_s + DAY_S, WAVE_S):
        leaving = [(until_s, server) for until_s, server in leaving if until_s > at_s]
        used = {server: own_clients(server, at_s) for server in SERVERS}
        for _, server in leaving:
            used[server] += 1
        promised: dict[str, int] = defaultdict(int)
        for _ in range(WAVE):
            loads = [_load(server, used[server], promised[server], at_s) for server in SERVERS]
            choice = choose(loads, at_s, chance.randbytes, ask(loads, at_s))
            assert choice is not None
            taken = [_taken(load) for load in loads]
            found.unevenness = max(found.unevenness, _taken(choice.server) - min(taken))
            promised[choice.server.hashname] += 1
            leaving.append((at_s + chance.uniform(*STAY_S), choice.server.hashname))
        if at_s >= begin_s:
            found.samples += [
                Sample(server, at_s, (used[server] + promised[server]) / SEATS)
                for server in SERVERS
            ]
    return found


def own_clients(server: str, at_s: float) -> int:
    """Its own, who come every day."""
    since_s = (at_s - HIGH_AT_H[server] * HOUR_S) % DAY_S
    rising, leaving = since_s / RISE_S, (HEIGHT_S + RISE_S - since_s) / RISE_S
    return round(SEATS * OWN_CLIENTS * max(0.0, min(1.0, rising, leaving)))


def forecast_from(days: Sequence[Day], number: int, confidence: float = 1.0) -> Forecast:
    """The mean of the same hour of earlier days, for this day and the hours around it."""
    shares: dict[tuple[str, int], list[float]] = defaultdict(list)
    for each in days:
        for sample in each.samples:
            shares[sample.server, sample.at_s // HOUR_S % 24].append(sample.share)
    start_s = BEGIN_S + number * DAY_S - 6 * HOUR_S
    return Forecast(
        tuple(
            ServerForecast(
                server_id(server),
                start_s * 1000,
                HOUR_S,
                tuple(fmean(shares[server, (hour - 6) % 24]) for hour in range(32)),
                confidence,
            )
            for server in SERVERS
        )
    )


def _load(server: str, used: int, promised: int, at_s: float) -> ServerLoad:
    return ServerLoad(server, "", "", b"", b"", SEATS, used, promised, 0.1, 0.1, at_s - 10)


def _taken(load: ServerLoad) -> float:
    return (load.seats_used + load.reserved) / load.seats_max
