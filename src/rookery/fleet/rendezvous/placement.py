"""Placement: which server a device and its client meet at.

    load = (seats taken + seats promised) / seats + pressure + forecast

`pressure` is 0 until the machine runs short of CPU or memory. A forecast says how much of the
seats a server will need soon beyond what it reports; it moves the load by FORECAST_MAX at most,
and without one everything is as if there were none. The least loaded server wins, chance
decides between equals.

Where reports are old, the least loaded server would get every client until its next report. So two
of the better half are drawn at random, and the less loaded of them wins.

A server that is being drained gets no sessions until draining ends.
"""

from collections.abc import Callable, Sequence
from math import isfinite

import msgspec

from rookery.identity.cipher_set import RandomBytes

FORECAST_MAX = 0.2
STALE_AFTER_S = 30.0  # a server reports every 20 s: one report is missing
DEAD_AFTER_S = 70.0  # three are
CPU_FREE = 0.7  # up to here nothing suffers
MEMORY_FREE = 0.9

GrowthForecast = Callable[[str], float | None]  # hashname → share of its seats, None: no opinion


class ServerLoad(msgspec.Struct, frozen=True):
    """What the hub knows of a server when it has to choose."""

    hashname: str
    tcp: str  # "ip:port"
    ws: str  # URL
    key2a: bytes
    digest40: bytes  # intermediate of its cipher set 40
    seats_max: int
    seats_used: int  # as reported: devices that sit there
    reserved: int  # as the hubs count: promised and not taken yet
    cpu: float  # 0 to 1
    mem: float  # 0 to 1
    reported_at: float  # on the clock of `choose`
    is_draining: bool = False  # operators want no new sessions there
    key40: bytes = b""  # empty where its sealed streams take 2a alone

    @property
    def seats_free(self) -> int:
        return self.seats_max - self.seats_used - self.reserved


class ServerChoice(msgspec.Struct, frozen=True):
    """A server, why this one, and those it was compared with, best first."""

    server: ServerLoad
    reason: str
    losers: tuple[str, ...]  # hashnames


class _RatedServer(msgspec.Struct, frozen=True):
    load: float
    lot: bytes  # decides between equals
    server: ServerLoad
    forecast: float

    @property
    def rank(self) -> tuple[float, bytes]:
        return self.load, self.lot


def choose(
    servers: Sequence[ServerLoad],
    now: float,
    random: RandomBytes,
    forecast: GrowthForecast | None = None,
) -> ServerChoice | None:
    """The server to reserve a seat at; None when no living one has a free seat."""
    fit = [server for server in servers if _is_fit(server, now)]
    if not fit:
        return None
    rated = sorted((_rate(server, random, forecast) for server in fit), key=lambda each: each.rank)
    better = rated[: max(2, (len(rated) + 1) // 2)]
    is_stale = any(now - each.server.reported_at > STALE_AFTER_S for each in better)
    if is_stale and len(better) > 1:
        winner = min(_draw_two(better, random), key=lambda each: each.rank)
        how = f"the better of two drawn from {len(better)}, as reports are old"
    else:
        winner = rated[0]
        how = f"the least loaded of {len(rated)}" if len(rated) > 1 else "the only one"
    losers = tuple(each.server.hashname for each in rated if each is not winner)
    return ServerChoice(winner.server, f"{how}: {_describe(winner)}", losers)


def _is_fit(server: ServerLoad, now: float) -> bool:
    is_alive = now - server.reported_at <= DEAD_AFTER_S
    return is_alive and server.seats_free > 0 and not server.is_draining


def _rate(server: ServerLoad, random: RandomBytes, forecast: GrowthForecast | None) -> _RatedServer:
    taken = (server.seats_used + server.reserved) / server.seats_max
    pressure = _excess(server.cpu, CPU_FREE) + _excess(server.mem, MEMORY_FREE)
    expected = _bounded(forecast(server.hashname)) if forecast is not None else 0.0
    return _RatedServer(taken + pressure + expected, random(8), server, expected)


def _excess(used: float, free: float) -> float:
    return max(0.0, used - free) / (1 - free)


def _bounded(expected: float | None) -> float:
    if expected is None or not isfinite(expected):
        return 0.0
    return max(-FORECAST_MAX, min(FORECAST_MAX, expected))


def _draw_two(
    rated: Sequence[_RatedServer], random: RandomBytes
) -> tuple[_RatedServer, _RatedServer]:
    first = _below(len(rated), random)
    second = _below(len(rated) - 1, random)
    return rated[first], rated[second + (second >= first)]


def _below(bound: int, random: RandomBytes) -> int:
    """Even enough: eight bytes for a few thousand servers."""
    return int.from_bytes(random(8), "big") % bound


def _describe(rated: _RatedServer) -> str:
    server = rated.server
    text = f"{server.seats_used} of {server.seats_max} seats taken, {server.reserved} promised"
    text += f", cpu {server.cpu:.0%}, memory {server.mem:.0%}"
    return f"{text}, forecast {rated.forecast:+.2f}" if rated.forecast else text
