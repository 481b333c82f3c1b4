"""A day's reports of servers, sessions at them and calls that they relayed."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from rookery.lake.schema.landing import CALLS, SERVER_REPORTS, SESSIONS
from rookery.lake.synthetic.batch import SyntheticBatch, latency_ms
from rookery.lake.synthetic.columns import FixedWidthTexts, texts_at, timestamps
from rookery.lake.synthetic.noise import Bits, Floats, Ints, below, noise, pair, share, stepped
from rookery.lake.synthetic.population import Population
from rookery.lake.synthetic.timeline import DAY_S, HOUR_S, SyntheticTimeline, busyness, day_steps

SEATS_MAX = 256
RECONNECT_STORM_S = (9 * HOUR_S, 9 * HOUR_S + 1200)  # of every day, at one server after the other
RECONNECT_STORM_SEATS = 96

_CHANNEL = 50
_SESSIONS_A_DEVICE = 2
_CALLS_MAX = 4
_NUMBERS_A_DAY = 1_000_000
_METHODS = ("system.board", "net.ping", "net.interfaces", "files.read")
_CODES = np.array([0] * 15 + [-32000], dtype=np.int64)
_REASONS = ("left", "left", "left", "idle", "router lost")


class DaySessions(NamedTuple):
    """The sessions of a day."""

    bits: Bits
    device: Ints
    server: Ints
    opened_ms: Ints
    closed_ms: Ints


class ServerDays:
    """One day of all servers at a time."""

    def __init__(self, population: Population, timeline: SyntheticTimeline) -> None:
        self._population = population
        self._timeline = timeline
        self._seed = population.seed
        self._ids = FixedWidthTexts(population.server_ids) if population.servers else None

    def batches(self, day: int) -> list[SyntheticBatch]:
        if self._ids is None:
            return []
        sessions = self._day_sessions(day)
        return [self._reports(day), self._sessions(day, sessions), self._calls(day, sessions)]

    def boot(self, server: Ints, wall_ms: Ints) -> Ints:
        """The first server restarts halfway."""
        half_ms = (self._timeline.start_ms + self._timeline.end_ms) // 2
        is_restarted = (server == 0) & (wall_ms >= half_ms)
        boot: Ints = np.where(is_restarted, half_ms, self._timeline.start_ms - 1000) + server
        return boot

    def _senders(self, server: Ints) -> pa.Array:
        assert self._ids is not None
        return self._ids.take(server)

    def _reports(self, day: int) -> SyntheticBatch:
        servers = len(self._population.servers)
        step = np.repeat(day_steps(self._timeline, day), servers)
        server = np.tile(np.arange(servers, dtype=np.int64), self._timeline.steps_a_day)
        seconds = (step * self._timeline.interval_s + 1 + server).astype(np.float64)
        at_ms = self._timeline.start_ms + (seconds * 1000).astype(np.int64)
        bits = noise(self._seed, _CHANNEL, pair(server, step))
        seats = self._seats(server, seconds, bits)
        used = seats / SEATS_MAX
        boot = self.boot(server, at_ms)
        # Numbers go on over a restart, which is allowed: only with its boot is one unique.
        return SyntheticBatch(
            table=SERVER_REPORTS,
            names=self._population.hubs,
            spool=server % len(self._population.hubs),
            received_ms=at_ms + latency_ms(self._seed, _CHANNEL + 1, pair(server, step)),
            sender=self._senders(server),
            boot=boot,
            sequence=step + 1,
            at_ms=at_ms,
            columns={
                "seats_max": pa.array(np.full(len(step), SEATS_MAX, dtype=np.int64)),
                "seats_used": pa.array(seats),
                "cpu": pa.array(stepped(0.0625 + 0.75 * used + 0.125 * share(bits, 1), 1024)),
                "mem": pa.array(stepped(0.25 + 0.5 * used, 1024)),
                "tcp": texts_at([f"192.0.2.{n + 1}:7420" for n in range(servers)], server),
                "ws": texts_at([f"wss://s{n + 1}.example.org/" for n in range(servers)], server),
            },
        )

    def _seats(self, server: Ints, seconds: Floats, bits: Bits) -> Ints:
        usual = 16.0 + 96.0 * busyness(seconds + self._timeline.monday_s) + 16.0 * share(bits, 0)
        day, second = np.divmod(seconds, DAY_S)
        is_storm = (second >= RECONNECT_STORM_S[0]) & (second < RECONNECT_STORM_S[1])
        is_storm &= server == day % len(self._population.servers)
        seats: Ints = (usual + np.where(is_storm, RECONNECT_STORM_SEATS, 0)).astype(np.int64)
        return seats

    def _day_sessions(self, day: int) -> DaySessions:
        number = np.arange(_SESSIONS_A_DEVICE * self._population.originals, dtype=np.int64)
        bits = noise(self._seed, _CHANNEL + 2, pair(np.full_like(number, day), number))
        quarters = np.arange(96, dtype=np.float64) * 900.0 + day * DAY_S
        shares = np.cumsum(busyness(quarters + self._timeline.monday_s) + 0.05)
        quarter = np.searchsorted(shares / shares[-1], share(bits, 0), side="right")
        opened_s = quarter * 900 + below(bits, 1, 900)
        closed_s = np.minimum(opened_s + 30 + below(bits, 2, 3600), DAY_S - 1)
        day_ms = self._timeline.ms(day * DAY_S)
        server = below(bits, 3, len(self._population.servers))
        device = number % self._population.originals
        return DaySessions(bits, device, server, day_ms + opened_s * 1000, day_ms + closed_s * 1000)

    def _sessions(self, day: int, sessions: DaySessions) -> SyntheticBatch:
        bits, server = noise(self._seed, _CHANNEL + 3, sessions.opened_ms), sessions.server
        number = np.arange(len(server), dtype=np.int64)
        volume = below(bits, 0, 1 << 16)
        accounts = self._population.accounts
        return SyntheticBatch(
            table=SESSIONS,
            names=self._population.hubs,
            spool=server % len(self._population.hubs),
            received_ms=sessions.closed_ms + latency_ms(self._seed, _CHANNEL + 4, number),
            sender=self._senders(server),
            boot=self.boot(server, sessions.closed_ms),
            sequence=day * _NUMBERS_A_DAY + number + 1,
            at_ms=sessions.closed_ms,
            columns={
                "seat": _seats_of(sessions),
                "who": texts_at(accounts, sessions.device % len(accounts)),
                "router": self._population.device_ids.take(sessions.device),
                "server": texts_at(self._population.servers, server),
                "opened_at": timestamps(sessions.opened_ms),
                "closed_at": timestamps(sessions.closed_ms),
                "reason": texts_at(_REASONS, below(bits, 1, len(_REASONS))),
                "sent_bytes": pa.array(volume * 16),
                "received_bytes": pa.array(volume * 128),
            },
        )

    def _calls(self, day: int, sessions: DaySessions) -> SyntheticBatch:
        counts = 1 + below(noise(self._seed, _CHANNEL + 5, sessions.opened_ms), 0, _CALLS_MAX)
        index = np.repeat(np.arange(len(counts)), counts)
        number = np.arange(len(index), dtype=np.int64)
        bits = noise(self._seed, _CHANNEL + 6, pair(np.full_like(number, day), number))
        span_ms = sessions.closed_ms[index] - sessions.opened_ms[index]
        at_ms = sessions.opened_ms[index] + (span_ms * share(bits, 0)).astype(np.int64)
        server, device = sessions.server[index], sessions.device[index]
        accounts = self._population.accounts
        return SyntheticBatch(
            table=CALLS,
            names=self._population.hubs,
            spool=server % len(self._population.hubs),
            received_ms=at_ms + latency_ms(self._seed, _CHANNEL + 7, number),
            sender=self._senders(server),
            boot=self.boot(server, at_ms),
            sequence=day * _NUMBERS_A_DAY + number + 1,
            at_ms=at_ms,
            columns={
                "who": texts_at(accounts, device % len(accounts)),
                "router": self._population.device_ids.take(device),
                "method": texts_at(_METHODS, below(bits, 1, len(_METHODS))),
                "ms": pa.array(stepped(4.0 + 900.0 * share(bits, 2) ** 4, 64)),
                "code": pa.array(_CODES[below(bits, 3, len(_CODES))]),
                "seat": _seats_of(sessions).take(pa.array(index)),
            },
        )


def _seats_of(sessions: DaySessions) -> pa.Array:
    return pa.array([f"{bits:016x}" for bits in sessions.bits.tolist()], pa.string())
