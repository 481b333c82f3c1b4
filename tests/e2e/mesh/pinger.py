"""Pings between all pairs of a flock, again and again, and what trouble did to them.

    pair ──lane: a connection to the first one's control socket──▶ ping the second, twice a second
                                                       unanswered: again at once

A lane waits longer for an answer where the last ones took long, and when it has had none for some
time: on a machine that is slow enough all answers are late, and none of them is lost. It takes
another connection where its own has ended, or was refused as one too many. Where pings take longer
than their period it rests as long as each took, or all of them together would keep the machine
slow: a node that gets less of it than they ask for answers later and later, in the end too late.

An *outage* of a pair lasts from the trouble, or from the last ping before the lost ones if that was
later, to the first after them; the longest counts, as a busy machine loses some later on.
Witnesses have more lanes: the longest time in which none of their pings that were answered was
sent is never less than the true gap, and about 45 ms longer.
"""

import asyncio
import contextlib
import math
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise, takewhile

from rookery.errors import RookeryError
from rookery.runtime.control.client import ControlClient, connected
from rookery.runtime.control.messages import ControlCommand, ControlRequest
from rookery.runtime.node.members import Reachability
from rookery.runtime.node.snapshot import PingReply
from tests.e2e.mesh.flock import ANSWER_S, Bird, Edge, Flock

PERIOD_S = 0.5
PATIENCE_S = 0.25
WITNESS_PERIOD_S = 0.22
WITNESS_PATIENCE_S = 0.2  # less than the period, so that no turn is missed
WITNESS_LANES = 5
PATIENCE_FACTOR = 4  # times what the last answer took
PATIENCE_KEPT = 0.9  # of what there was, after each answer
PATIENCE_S_MAX = 4.0  # the node itself waits five seconds
PATIENT_AFTER_S = 4.0  # without an answer; longer than any outage should be
IN_A_ROW = 3  # pings that were answered: it is over
_USUAL_S = 5.0  # before the trouble
_PAUSE_S = 0.01
_AGAIN_S = 0.1  # until the next connection to a node that ended one
_POLL_S = 0.05
_TOLD = 12  # pings, of a pair that is lost


@dataclass(frozen=True, slots=True)
class Ping:
    """One ping; an unanswered one says why."""

    sent_s: float
    ended_s: float
    problem: str = ""


class PairsLostError(TimeoutError):
    """Pings of some pairs are not answered any more."""

    def __init__(self, text: str, pairs: Sequence[Edge]) -> None:
        super().__init__(text)
        self.pairs = pairs


@dataclass(frozen=True, slots=True)
class Outages:
    """What a trouble did."""

    trouble: str
    pairs: int  # that should answer
    usual_s: float = 0.0  # what an answer took
    stalled_s: float = 0.0  # for so long this very process waited for a processor meanwhile
    seconds: dict[Edge, float] = field(default_factory=dict)  # of those that did not at some time
    silences: dict[Edge, float] = field(default_factory=dict)  # of witnesses

    @property
    def silence_s(self) -> float:
        """Precise, but of the witnesses only."""
        return max(self.silences.values(), default=0.0)

    @property
    def longest_s(self) -> float:
        """Of all pairs; by as much too long as a lost ping is waited for."""
        return max([*self.seconds.values(), *self.silences.values()], default=0.0)

    def __str__(self) -> str:
        middle = statistics.median(self.seconds.values()) if self.seconds else 0.0
        return (
            f"{self.trouble}: {len(self.seconds)} of {self.pairs} pairs lost pings, "
            f"for {_ms(middle)} in the middle, {_ms(self.longest_s)} at most; "
            f"witnesses for {_ms(self.silence_s)}; this process was late by {_ms(self.stalled_s)}"
        )


class Patience:
    """How long a lane waits for an answer."""

    def __init__(self, least_s: float) -> None:
        self.seconds = self._least_s = least_s
        self._answered_s = time.monotonic()

    def learn(self, ping: Ping) -> None:
        """One quick answer says little: where the machine is busy the next one may be slow."""
        if not ping.problem:
            self._answered_s = ping.ended_s
            enough_s = PATIENCE_FACTOR * (ping.ended_s - ping.sent_s)
            kept_s = PATIENCE_KEPT * self.seconds
            self.seconds = min(max(self._least_s, enough_s, kept_s), PATIENCE_S_MAX)
        elif ping.ended_s > self._answered_s + PATIENT_AFTER_S:
            self.seconds = min(2 * self.seconds, PATIENCE_S_MAX)


class Pinger:
    """Pings for as long as `pinging` lasts."""

    def __init__(self, flock: Flock, tasks: asyncio.TaskGroup) -> None:
        self._flock = flock
        self._tasks = tasks
        self._history: defaultdict[Edge, list[Ping]] = defaultdict(list)
        self._lanes: dict[Edge, asyncio.Task[None]] = {}
        self._witnesses: Sequence[Edge] = ()
        self._witnessing: set[asyncio.Task[None]] = set()
        self._stalls: list[tuple[float, float]] = []  # when, and by how much the loop was late
        self._metronome = tasks.create_task(self._notice_stalls())

    def begin(self) -> None:
        """Ping between all that live, also those who have come back."""
        for number, pair in enumerate(self._flock.pairs()):
            lane = self._lanes.get(pair)
            if lane is None or lane.done():
                phase_s = PERIOD_S * (number * 0.618 % 1)  # not all at once
                self._lanes[pair] = self._lane(pair, phase_s, PERIOD_S, PATIENCE_S)

    def witness(self, pairs: Sequence[Edge]) -> None:
        """Look at these more closely, and no longer at those before."""
        for lane in self._witnessing:
            lane.cancel()
        self._witnesses = pairs
        self._witnessing = {
            self._lane(
                pair,
                WITNESS_PERIOD_S * number / WITNESS_LANES,
                WITNESS_PERIOD_S,
                WITNESS_PATIENCE_S,
            )
            for pair in pairs
            for number in range(WITNESS_LANES)
        }

    def end(self) -> None:
        for lane in (*self._lanes.values(), *self._witnessing, self._metronome):
            lane.cancel()

    async def resumed(self, pairs: Collection[Edge], since_s: float, limit_s: float) -> None:
        """Wait until each of these pairs has answered for a while; PairsLostError: some do not."""
        waiting, until_s = list(pairs), since_s + limit_s
        while waiting := [pair for pair in waiting if not self._has_resumed(pair, since_s)]:
            if time.monotonic() > until_s:
                accounts = "\n".join(self.account(pair, since_s) for pair in waiting)
                raise PairsLostError(f"after {limit_s:.0f} s:\n{accounts}", waiting)
            await asyncio.sleep(_POLL_S)

    def outages(self, trouble: str, pairs: Collection[Edge], since_s: float) -> Outages:
        stalled_s = sum(late_s for at_s, late_s in self._stalls if at_s >= since_s)
        found = Outages(trouble, len(pairs), self._usual_s(since_s), stalled_s)
        for pair in pairs:
            seconds = _outage(self._history[pair], since_s)
            if seconds is not None:
                found.seconds[pair] = seconds
            if pair in self._witnesses:
                found.silences[pair] = _silence(self._history[pair], since_s)
        return found

    def account(self, pair: Edge, since_s: float) -> str:
        """What became of a pair's pings since then, the last ones in detail."""
        recent, now = self._since(pair, since_s), time.monotonic()
        problems = Counter(ping.problem or "answered" for ping in recent)
        last = ", ".join(
            f"{now - ping.sent_s:.2f} s ago for {ping.ended_s - ping.sent_s:.2f} s: "
            f"{ping.problem or 'answered'}"
            for ping in recent[-_TOLD:]
        )
        return f"{pair[0]} to {pair[1]}: {dict(problems)}; last {last or 'never asked'}"

    def _usual_s(self, since_s: float) -> float:
        """Before the trouble or since, whichever is slower: a machine gets busy at any time."""
        took: dict[bool, list[float]] = {False: [], True: []}
        for history in self._history.values():
            for ping in history:
                if not ping.problem and ping.sent_s >= since_s - _USUAL_S:
                    took[ping.sent_s >= since_s].append(ping.ended_s - ping.sent_s)
        return max(statistics.median(each or [0.0]) for each in took.values())

    async def _notice_stalls(self) -> None:
        """What this process waits for, the nodes wait for as well: it is as nice as they are."""
        while True:
            due_s = time.monotonic() + _POLL_S
            await asyncio.sleep(_POLL_S)
            now = time.monotonic()
            self._stalls.append((now, now - due_s))

    def _lane(
        self, pair: Edge, phase_s: float, period_s: float, patience_s: float
    ) -> asyncio.Task[None]:
        return self._tasks.create_task(self._ping(pair, phase_s, period_s, patience_s))

    async def _ping(self, pair: Edge, phase_s: float, period_s: float, patience_s: float) -> None:
        source, target = (self._flock.birds[number] for number in pair)
        history = self._history[pair]
        patience = Patience(patience_s)
        due_s = time.monotonic() // period_s * period_s + phase_s
        rest_s = _PAUSE_S
        while source.is_alive and target.is_alive:
            begun_s = time.monotonic()
            try:
                async with connected(source.control, timeout_s=ANSWER_S) as client:
                    while target.is_alive:
                        await asyncio.sleep(max(rest_s, due_s - time.monotonic()))
                        begun_s = time.monotonic()
                        ping = await _one(client, target, patience.seconds)
                        history.append(ping)
                        rest_s = _rest_s(ping, patience.seconds)
                        patience.learn(ping)
                        if not ping.problem:  # lanes keep their distance
                            periods = math.ceil((ping.ended_s - due_s) / period_s)
                            due_s += period_s * max(1, periods)
            except RookeryError as error:  # the connection is of no use any more: take another
                history.append(Ping(begun_s, time.monotonic(), str(error)))
                await asyncio.sleep(_AGAIN_S)

    def _has_resumed(self, pair: Edge, since_s: float) -> bool:
        """Whether some pings in a row were answered; on a busy machine no row is endless."""
        recent = [ping.problem for ping in self._since(pair, since_s)]
        rows = (len(list(row)) for problem, row in groupby(recent) if not problem)
        return max(rows, default=0) >= IN_A_ROW

    def _since(self, pair: Edge, since_s: float) -> list[Ping]:
        """As they were sent."""
        recent = takewhile(lambda ping: ping.ended_s >= since_s, reversed(self._history[pair]))
        return sorted(
            (ping for ping in recent if ping.sent_s >= since_s), key=lambda ping: ping.sent_s
        )


@contextlib.asynccontextmanager
async def pinging(flock: Flock) -> AsyncIterator[Pinger]:
    """Ping from here to the end of the block."""
    async with asyncio.TaskGroup() as tasks:
        pinger = Pinger(flock, tasks)
        pinger.begin()
        try:
            yield pinger
        finally:
            pinger.end()


async def _one(client: ControlClient, target: Bird, patience_s: float) -> Ping:
    request = ControlRequest(
        do=ControlCommand.PING, node=target.home.hashname, timeout_s=patience_s
    )
    sent_s = time.monotonic()
    reply = await client.one(request, PingReply, patience_s=patience_s)
    is_answered = reply.rtt_ms is not None and reply.reach in (
        Reachability.DIRECT,
        Reachability.ROUTE,
    )
    problem = "" if is_answered else reply.problem or "answered another way"
    return Ping(sent_s, time.monotonic(), problem)


def _rest_s(ping: Ping, patience_s: float) -> float:
    """Where pings take longer than a period they are part of the load, and become fewer.

    What a frozen source took to say so is beyond all patience, and no reason to rest.
    """
    took_s = min(ping.ended_s - ping.sent_s, patience_s)
    return took_s if took_s > PERIOD_S else _PAUSE_S


def _outage(history: Iterable[Ping], since_s: float) -> float | None:
    """The longest time with a lost ping between two that were answered; None if there was none."""
    pings = sorted(history, key=lambda ping: ping.sent_s)
    answered_s, outage_s, is_lost = since_s, None, False
    for ping in pings:
        if ping.problem:
            is_lost |= ping.ended_s >= since_s
            continue
        if is_lost:
            outage_s = max(ping.sent_s - answered_s, outage_s or 0.0)
        answered_s, is_lost = max(since_s, ping.sent_s), False
    if is_lost and outage_s is None:  # it had resumed before: just now another one was lost
        return max(ping.ended_s for ping in pings) - answered_s
    return outage_s


def _silence(history: Iterable[Ping], since_s: float) -> float:
    """The longest time in which no ping was sent that was answered, and that saw the trouble."""
    sent = sorted(ping.sent_s for ping in history if not ping.problem)
    return max(
        (after - before for before, after in pairwise(sent) if after >= since_s), default=0.0
    )


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms"
