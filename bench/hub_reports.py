"""Reports a second that a hub takes in: proof checked, registry updated, durable, acknowledged.

sender ──reports──▶ hub        two processes; each datagram comes from another address than the last
       ◀──acks─────            beside it, in turns: the same datagrams into a bare receive loop

Rates are per second of processor time of the receiving process, all its threads together: with a
second core for the sender, that is what one core takes in.
"""

import os
import select
import socket
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from bench.figure import Effort, Figure, Goal, middle
from bench.hub_routers import Senders, Sockets, entries
from bench.process import answer, child, ordered
from rookery.hub.hub import Hub
from rookery.hub.settings import HubSettings
from rookery.runtime.loop import run
from rookery.store.hubs.settings import Settings
from rookery.wire.link.path import NetPath

ROUTERS = 4000
IN_FLIGHT_MAX = 4096
RATE_MAX = 200_000  # reports prepared for a second

_LOST_S = 0.5  # without an answer: what is in flight is lost
_BURST = 64


@dataclass(frozen=True, slots=True)
class Job:
    """What a sender needs to know."""

    port: int
    master: bytes
    seconds: float
    is_answered: bool


@dataclass(frozen=True, slots=True)
class Opened:
    """A hub that listens."""

    port: int
    master: bytes


@dataclass(frozen=True, slots=True)
class Taken:
    """What the receiving process has done since it was asked last."""

    reports: int
    worked_s: float

    @property
    def rate(self) -> float:
        return self.reports / max(self.worked_s, 1e-9)


@dataclass(frozen=True, slots=True)
class Sent:
    """What the sending process has done in one turn."""

    datagrams: int
    answers: int
    seconds: float


def measure(effort: Effort) -> list[Figure]:
    rates, limits, walls = [], [], []
    with ExitStack() as stack:
        hub = stack.enter_context(child(serve, None))
        opened = answer(hub, Opened)
        bare = stack.enter_context(child(drain, None))
        port = answer(bare, int)
        job = Job(opened.port, opened.master, effort.seconds, True)
        sender = stack.enter_context(child(send, job))
        bare_job = Job(port, opened.master, effort.seconds, False)
        bare_sender = stack.enter_context(child(send, bare_job))
        for _ in range(effort.runs):
            sent, taken = _turn(sender, hub)
            rates.append(taken.rate)
            walls.append(sent.answers / max(sent.seconds, 1e-9))
            _, drained = _turn(bare_sender, bare)
            limits.append(drained.rate)
    size = len(Senders(1, opened.master).datagram(0, 1))
    return [
        Figure(
            what=f"reports of {size} B from {ROUTERS} routers, proved, kept, durable",
            value=middle(rates),
            unit="reports/s per core",
            limit=middle(limits),
            against="bare receive loop, same datagrams",
            goal=Goal(ratio_min=0.1, value_min=60_000),
            remark=f"{middle(walls):,.0f}/s acknowledged by the clock",
        )
    ]


def _turn(sender: Connection, receiver: Connection) -> tuple[Sent, Taken]:
    receiver.send(None)
    answer(receiver, Taken)  # what came before
    sender.send(None)
    sent = answer(sender, Sent)
    receiver.send(None)
    return sent, answer(receiver, Taken)


def udp_port(hub: Hub) -> int:
    return next(
        path.port for path in hub.link.paths if isinstance(path, NetPath) and path.is_datagram
    )


def serve(pipe: Connection, _: None) -> None:
    """The hub's process."""
    with tempfile.TemporaryDirectory() as folder:
        run(_serve(pipe, Path(folder)))


async def _serve(pipe: Connection, folder: Path) -> None:
    async with await Hub.start(HubSettings(data=folder, policy="open")) as hub:
        await hub.hot.put(entries(range(ROUTERS)))
        master = await Settings(hub.database).master_secret(os.urandom)
        pipe.send(Opened(udp_port(hub), master))
        reports, worked_s = 0, time.process_time()
        while await ordered(pipe):
            before, reports = reports, hub.report_counters.reports
            began_s, worked_s = worked_s, time.process_time()
            pipe.send(Taken(reports - before, worked_s - began_s))


def drain(pipe: Connection, _: None) -> None:
    """A process that receives and does nothing else: the limit."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        sock.bind(("127.0.0.1", 0))
        sock.setblocking(False)
        pipe.send(sock.getsockname()[1])
        count, worked_s = 0, time.process_time()
        while True:
            readable = select.select([sock.fileno(), pipe.fileno()], [], [])[0]
            if sock.fileno() in readable:
                count += _drained(sock)
            if pipe.fileno() in readable:
                try:
                    pipe.recv()
                except EOFError:
                    return
                before_s, worked_s = worked_s, time.process_time()
                pipe.send(Taken(count, worked_s - before_s))
                count = 0


def _drained(sock: socket.socket) -> int:
    count = 0
    try:
        while True:
            sock.recvfrom(2048)
            count += 1
    except BlockingIOError:
        return count


def send(pipe: Connection, job: Job) -> None:
    """The sending process: has a turn's datagrams ready before it begins."""
    sender, senders = _Sender(job), Senders(ROUTERS, job.master)
    rounds, sequence = max(1, int(job.seconds * RATE_MAX / ROUTERS)), 1
    while True:
        try:
            pipe.recv()
        except EOFError:
            return
        datagrams = []
        for _ in range(rounds):
            datagrams += senders.round(sequence)
            sequence += 1
        pipe.send(sender.turn(datagrams))


class _Sender:
    """Keeps so many reports in flight."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._sockets = Sockets(job.port)
        self._answers = self._in_flight = 0
        self._heard_at = 0.0

    def turn(self, datagrams: Sequence[bytes]) -> Sent:
        self._answers = self._in_flight = sent = 0
        began = self._heard_at = time.perf_counter()
        while sent < len(datagrams) and time.perf_counter() - began < self._job.seconds:
            portion = datagrams[sent : sent + _BURST]
            self._sockets.send(portion)
            sent += len(portion)
            if self._job.is_answered:
                self._in_flight += len(portion)
                self._hear()
                while self._in_flight >= IN_FLIGHT_MAX:
                    self._hear()
        while self._job.is_answered and self._in_flight:
            self._hear()
        return Sent(sent, self._answers, self._heard_at - began)

    def _hear(self) -> None:
        count, now = self._sockets.answers(), time.perf_counter()
        if count:
            self._answers += count
            self._in_flight = max(0, self._in_flight - count)
            self._heard_at = now
        elif now - self._heard_at > _LOST_S:
            self._in_flight = 0
