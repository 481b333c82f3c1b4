"""Packets a second between two crow towers over UDP, against the same exchange of bare sockets.

tower ──packets──▶ tower      two processes; the parent measures the limit between their turns
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

from bench.crow_bare import Pace, bare_pace
from bench.figure import Effort, Figure, Goal, middle
from bench.process import answer, child, ordered
from rookery.crow.limits import DeliveryLimits, TowerLimits
from rookery.runtime.crow.gates.udp_gate import CrowUdpGate
from rookery.runtime.crow.tower import CrowTower
from rookery.runtime.loop import run

DATA_SIZE = 128
_BURST = 32
_SETTLE_S = 0.02  # until what is still in the sockets has arrived


@dataclass(frozen=True, slots=True)
class Exchange:
    """How packets are exchanged."""

    qos: int
    window: int

    def __str__(self) -> str:
        return f"QoS {self.qos}" if self.qos == 0 else f"QoS {self.qos}, window {self.window}"


@dataclass(frozen=True, slots=True)
class Job:
    """What the sending process needs to know."""

    exchange: Exchange
    address: bytes
    seconds: float


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What the receiving process saw in one turn."""

    packets: int
    seconds: float
    worked_s: float = 0.0  # of a processor

    @property
    def rate(self) -> float:
        return self.packets / max(self.seconds, 1e-9)


@dataclass(frozen=True, slots=True)
class Sent:
    """What the sending process did in one turn."""

    rate: float
    worked_s: float  # of a processor


EXCHANGES = (
    Exchange(0, 1),
    *(Exchange(qos, window) for qos in (1, 2) for window in (1, 16)),
)


def measure(effort: Effort) -> list[Figure]:
    return [figure(exchange, effort) for exchange in EXCHANGES]


def figure(exchange: Exchange, effort: Effort) -> Figure:
    """One exchange beside its limit, turn by turn."""
    paces, limits, sent_rate = [], [], 0.0
    with _towers(exchange, effort.seconds) as (sender, receiver):
        for _ in range(effort.runs):
            _arrivals(receiver)  # what came late in the turn before
            sender.send(None)
            sent = answer(sender, Sent)
            arrived = _arrivals(receiver)
            sent_rate = sent.rate
            rate, count = sent.rate if exchange.qos else arrived.rate, max(arrived.packets, 1)
            paces.append(Pace(rate, sent.worked_s / count * 1e6, arrived.worked_s / count * 1e6))
            limits.append(bare_pace(exchange.qos, exchange.window, DATA_SIZE, effort.seconds))
    ours, bare = _middle(paces), _middle(limits)
    worked = f"CPU of both ends {ours} µs each"
    return Figure(
        what=f"crow packets of {DATA_SIZE} B, {exchange}",
        value=ours.rate,
        unit="delivered/s" if exchange.qos else "arrived/s",
        limit=bare.rate,
        against="bare UDP loop, same exchange",
        goal=Goal(ratio_min=0.6 if exchange.qos else 0.5),
        remark=f"{worked}, bare {bare}" if exchange.qos else f"{worked}; {sent_rate:,.0f}/s sent",
    )


def _middle(paces: list[Pace]) -> Pace:
    return Pace(
        middle(each.rate for each in paces),
        middle(each.sender_us for each in paces),
        middle(each.receiver_us for each in paces),
    )


def _arrivals(receiver: Connection) -> Arrivals:
    receiver.send(None)
    return answer(receiver, Arrivals)


@contextmanager
def _towers(exchange: Exchange, seconds: float) -> Iterator[tuple[Connection, Connection]]:
    with child(receive, None) as receiver:
        job = Job(exchange, answer(receiver, bytes), seconds)
        with child(send, job) as sender:
            yield sender, receiver


def receive(pipe: Connection, _: None) -> None:
    """The receiving process: counts, and tells when asked."""
    run(_receive(pipe))


async def _receive(pipe: Connection) -> None:
    async with CrowTower() as tower, asyncio.TaskGroup() as tasks:
        gate = await CrowUdpGate.bind(tower)
        tower.add_gate(gate)
        tally = _Tally()
        counting = tasks.create_task(tally.count(tower))
        pipe.send(gate.address)
        while await ordered(pipe):
            await asyncio.sleep(_SETTLE_S)
            pipe.send(tally.taken())
        counting.cancel()


class _Tally:
    def __init__(self) -> None:
        self._packets = 0
        self._began_s = self._ended_s = 0.0
        self._worked_s = time.process_time()

    async def count(self, tower: CrowTower) -> None:
        async for _ in tower:
            self._ended_s = time.perf_counter()
            if not self._packets:
                self._began_s = self._ended_s
            self._packets += 1

    def taken(self) -> Arrivals:
        worked_s = time.process_time()
        arrivals = Arrivals(self._packets, self._ended_s - self._began_s, worked_s - self._worked_s)
        self._packets, self._worked_s = 0, worked_s
        return arrivals


def send(pipe: Connection, job: Job) -> None:
    """The sending process."""
    run(_send(pipe, job))


async def _send(pipe: Connection, job: Job) -> None:
    delivery = DeliveryLimits(unacked_max=job.exchange.window)
    async with CrowTower(limits=TowerLimits(delivery=delivery)) as tower:
        tower.add_gate(await CrowUdpGate.bind(tower))
        while await ordered(pipe):
            pour = _pour if job.exchange.qos == 0 else _exchange
            worked_s = time.process_time()
            rate = await pour(tower, job)
            pipe.send(Sent(rate, time.process_time() - worked_s))


async def _pour(tower: CrowTower, job: Job) -> float:
    """Send as fast as can be; packets a second."""
    data, sent, began = bytes(DATA_SIZE), 0, time.perf_counter()
    while time.perf_counter() - began < job.seconds:
        for _ in range(_BURST):
            tower.post(job.address, data)
        sent += _BURST
        await asyncio.sleep(0)
    return sent / (time.perf_counter() - began)


async def _exchange(tower: CrowTower, job: Job) -> float:
    """Keep the window full; packets delivered a second."""
    data, qos, posted = bytes(DATA_SIZE), job.exchange.qos, 0
    core, began = tower.nodes.tower, time.perf_counter()
    while time.perf_counter() - began < job.seconds:
        for _ in range(core.room(job.address)):
            tower.post(job.address, data, qos=qos)
            posted += 1
        await tower.outcomes.wait_for_room(job.address)
    rate = (posted - core.unacknowledged) / (time.perf_counter() - began)
    await tower.send(job.address, data, qos=qos)  # behind all others: the queue is empty then
    return rate
