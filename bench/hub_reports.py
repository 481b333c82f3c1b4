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

from bench.figure import Effort, Figure, middle
from bench.process import answer, child, ordered
from rookery.fleet import secrets
from rookery.fleet.entry import Entry
from rookery.hub.hub import Hub
from rookery.hub.settings import HubSettings
from rookery.runtime.loop import run
from rookery.store.settings import Settings
from rookery.wire import base32, fleet_tags, telemetry
from rookery.wire.fleet_datagrams import report_proved, serialize_report
from rookery.wire.path import NetPath
from rookery.wire.telemetry import DeviceReport, InterfaceCounters

TITLE = "Hub"

ROUTERS = 4000
SOCKETS = 400
BOOT = 1
IN_FLIGHT_MAX = 4096
RATE_MAX = 200_000  # reports prepared for a second

_LOST_S = 0.1  # without an answer: what is in flight is lost
_BURST = 64


@dataclass(frozen=True, slots=True)
class Job:
    """What a sender needs to know."""

    port: int
    master: bytes
    seconds: float
    is_answered: bool


@dataclass(frozen=True, slots=True)
class Taken:
    """What the receiving process has done since it was asked last."""

    reports: int
    worked_s: float


@dataclass(frozen=True, slots=True)
class Sent:
    """What the sending process has done in one turn."""

    datagrams: int
    answers: int
    seconds: float


def measure(effort: Effort) -> list[Figure]:
    rates, limits, walls, bytes_each = [], [], [], 0
    with ExitStack() as stack:
        hub = stack.enter_context(child(serve, None))
        port, master = answer(hub, tuple)
        bare = stack.enter_context(child(drain, None))
        sender = stack.enter_context(child(send, Job(port, master, effort.seconds, True)))
        bare_job = Job(answer(bare, int), master, effort.seconds, False)
        bare_sender = stack.enter_context(child(send, bare_job))
        bytes_each = len(_datagrams(master, 1, 1)[0])
        for _ in range(effort.runs):
            sent, taken = _turn(sender, hub)
            rates.append(taken.reports / taken.worked_s)
            walls.append(sent.answers / sent.seconds)
            _, drained = _turn(bare_sender, bare)
            limits.append(drained.reports / drained.worked_s)
    return [
        Figure(
            what=f"reports of {bytes_each} B from {ROUTERS} routers, proved, kept, durable",
            value=middle(rates),
            unit="reports/s per core",
            limit=middle(limits),
            against="bare receive loop, same datagrams",
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


# The hub


def serve(pipe: Connection, _: None) -> None:
    """The hub's process."""
    with tempfile.TemporaryDirectory() as folder:
        run(_serve(pipe, Path(folder)))


async def _serve(pipe: Connection, folder: Path) -> None:
    settings = HubSettings(data=folder)
    async with await Hub.start(settings) as hub:
        master = await Settings(hub.database).master_secret(os.urandom)
        await hub.hot.put(_entries())
        (udp,) = (p for p in hub.link.paths if isinstance(p, NetPath) and p.kind == "udp4")
        pipe.send((udp.port, master))
        reports, worked_s = 0, time.process_time()
        while await ordered(pipe):
            before, reports = reports, hub.report_counters.reports
            began_s, worked_s = worked_s, time.process_time()
            pipe.send(Taken(reports - before, worked_s - began_s))


def _router(number: int) -> tuple[bytes, bytes]:
    """Its MAC and the bytes of its hashname."""
    return b"\x02\xfc" + number.to_bytes(4, "big"), number.to_bytes(32, "big")


def _generation(reporter: bytes) -> int:
    return secrets.generation(reporter, time.time(), 86_400)


def _entries() -> list[Entry]:
    now, entries = time.time(), []
    for number in range(ROUTERS):
        reporter, raw = _router(number)
        name, generation = base32.encode(raw), _generation(reporter)
        entries.append(
            Entry(
                reporter, "router", name, os.urandom(64), os.urandom(32), generation,
                BOOT, 0, 0, now, now,
            )
        )  # fmt: skip
    return entries


# The limit


def drain(pipe: Connection, _: None) -> None:
    """A process that receives and does nothing else."""
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


# The sender


def send(pipe: Connection, job: Job) -> None:
    """The sending process: has a turn's datagrams ready before it begins."""
    sender = _Sender(job)
    sequence = 1
    while True:
        try:
            pipe.recv()
        except EOFError:
            return
        rounds = max(1, int(job.seconds * RATE_MAX / ROUTERS))
        datagrams = _datagrams(job.master, sequence, rounds)
        sequence += rounds
        pipe.send(sender.turn(datagrams))


def _datagrams(master: bytes, sequence: int, rounds: int) -> list[bytes]:
    """So many rounds of reports of all routers, beginning with a sequence."""
    routers = []
    for number in range(ROUTERS if rounds > 1 else 1):
        reporter, raw = _router(number)
        generation = _generation(reporter)
        routers.append((reporter, generation, secrets.derive(master, reporter, raw, generation)))
    content = telemetry.encode(
        DeviceReport(
            t=int(time.time() * 1000),
            b=BOOT,
            n=sequence,
            up=86_400.0,
            load=0.5,
            mem=0.4,
            disk=0.3,
            temp=51.0,
            ifs={f"eth{n}": InterfaceCounters(10**9, 10**8, 10**6, 10**6) for n in range(3)},
            agent="0.1.0",
        )
    )
    datagrams = []
    for number in range(sequence, sequence + rounds):
        for reporter, generation, secret in routers:
            proved = report_proved(
                fleet_tags.TELEMETRY, reporter, generation, BOOT, number, content
            )
            datagrams.append(serialize_report(proved, secrets.prove(secret, proved)))
    return datagrams


class _Sender:
    """Many sockets, so that no two datagrams in a row come from the same address."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(SOCKETS)]
        self._answered = select.epoll()
        self._by_descriptor = {sock.fileno(): sock for sock in self._sockets}
        for sock in self._sockets:
            sock.connect(("127.0.0.1", job.port))
            sock.setblocking(False)
            if job.is_answered:
                self._answered.register(sock, select.EPOLLIN)

    def turn(self, datagrams: Sequence[bytes]) -> Sent:
        sockets, answers, sent = self._sockets, 0, 0
        in_flight, heard_at = 0, time.perf_counter()
        began = heard_at
        while sent < len(datagrams) and time.perf_counter() - began < self._job.seconds:
            for index in range(sent, min(sent + _BURST, len(datagrams))):
                sockets[index % SOCKETS].send(datagrams[index])
            sent = min(sent + _BURST, len(datagrams))
            if not self._job.is_answered:
                continue
            in_flight += _BURST
            while True:
                count = self._take()
                answers += count
                in_flight = max(0, in_flight - count)
                now = time.perf_counter()
                if count:
                    heard_at = now
                elif now - heard_at > _LOST_S:
                    in_flight, heard_at = 0, now
                if in_flight < IN_FLIGHT_MAX:
                    break
        rest, ended = self._rest()
        return Sent(sent, answers + rest, ended - began)

    def _take(self) -> int:
        count = 0
        for descriptor, _ in self._answered.poll(0, 256):
            sock = self._by_descriptor[descriptor]
            try:
                while True:
                    sock.recv(256)
                    count += 1
            except (BlockingIOError, ConnectionRefusedError):
                continue
        return count

    def _rest(self) -> tuple[int, float]:
        """What is still to be answered, as long as answers come; and when the last one came."""
        count, heard_at = 0, time.perf_counter()
        while self._job.is_answered and time.perf_counter() - heard_at < _LOST_S:
            if taken := self._take():
                count, heard_at = count + taken, time.perf_counter()
        return count, heard_at
