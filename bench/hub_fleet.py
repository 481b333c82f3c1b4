"""A hundred thousand routers on one hub, each reporting every 20 seconds, for three rounds.

Real datagrams at an even pace. The routers are in the database before the hub starts, as after a
restart; what each of them costs in memory is counted after the last round.
"""

import asyncio
import os
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from bench.figure import Effort, Figure, Goal
from bench.hub_reports import udp_port
from bench.hub_routers import Senders, Sockets, entries
from bench.process import answer, child, ordered, resident_bytes
from rookery.hub.hub import Hub
from rookery.hub.settings import REPORT_INTERVAL_S, HubSettings
from rookery.runtime.loop import run
from rookery.store.database.database import Database
from rookery.store.fleet.entries import Entries
from rookery.store.hubs.settings import Settings

ROUNDS = 3

_TICK_S = 0.01
_CHUNK = 5000


@dataclass(frozen=True, slots=True)
class Fleet:
    """So many routers, each with an interval."""

    routers: int
    interval_s: float


@dataclass(frozen=True, slots=True)
class Opened:
    """A hub that listens, and the memory it had before it knew anybody."""

    port: int
    master: bytes
    bare_bytes: int


@dataclass(frozen=True, slots=True)
class Condition:
    """How the hub is."""

    reports: int
    silent: int
    present: int
    worked_s: float
    bytes: int


def measure(effort: Effort) -> list[Figure]:
    fleet = Fleet(1000, 0.5) if effort.is_quick else Fleet(100_000, REPORT_INTERVAL_S)
    with child(serve, fleet) as hub:
        opened = answer(hub, Opened)
        senders = Senders(fleet.routers, opened.master)
        with closing(Sockets(opened.port)) as sockets:
            before = _condition(hub)
            began = time.perf_counter()
            answers = sum(_round(senders, sockets, fleet, number + 1) for number in range(ROUNDS))
            seconds = time.perf_counter() - began
            answers += _rest(sockets, ROUNDS * fleet.routers - answers)
            after = _condition(hub)
    count = ROUNDS * fleet.routers
    assert after.silent == 0, f"{after.silent} routers are falsely silent"
    each_bytes = (after.bytes - opened.bare_bytes) / fleet.routers
    remark = f"{answers:,} of {count:,} acknowledged; {after.silent} of {after.present} silent"
    return [
        Figure(
            what=f"{fleet.routers:,} routers, each every {fleet.interval_s:g} s",
            value=(after.worked_s - before.worked_s) / seconds * 100,
            unit="% of a core",
            goal=Goal(value_max=25.0),
            remark=remark,
        ),
        Figure(
            what="memory of a router at the hub",
            value=each_bytes,
            unit="bytes",
            goal=Goal(value_max=2000.0),
        ),
    ]


def _condition(hub: Connection) -> Condition:
    hub.send(None)
    return answer(hub, Condition)


def _round(senders: Senders, sockets: Sockets, fleet: Fleet, sequence: int) -> int:
    """One report of each, spread evenly; how many answers came."""
    began, sent, answers = time.perf_counter(), 0, 0
    while (gone_s := time.perf_counter() - began) < fleet.interval_s:
        due = min(fleet.routers, int(gone_s / fleet.interval_s * fleet.routers) + 1)
        sockets.send([senders.datagram(number, sequence) for number in range(sent, due)])
        sent = due
        answers += sockets.answers()
        time.sleep(_TICK_S)
    sockets.send([senders.datagram(number, sequence) for number in range(sent, fleet.routers)])
    return answers


def _rest(sockets: Sockets, missing: int) -> int:
    """What is still on its way."""
    answers, until = 0, time.perf_counter() + 1.0
    while answers < missing and time.perf_counter() < until:
        answers += sockets.answers()
        time.sleep(_TICK_S)
    return answers


def serve(pipe: Connection, fleet: Fleet) -> None:
    """The hub's process."""
    with tempfile.TemporaryDirectory() as folder:
        run(_serve(pipe, fleet, Path(folder)))


async def _serve(pipe: Connection, fleet: Fleet, folder: Path) -> None:
    settings = HubSettings(data=folder, policy="open")
    async with await Hub.start(settings):
        bare_bytes = resident_bytes()
    await _enrol(settings, fleet.routers)
    async with await Hub.start(settings) as hub:
        master = await Settings(hub.database).master_secret(os.urandom)
        pipe.send(Opened(udp_port(hub), master, bare_bytes))
        while await ordered(pipe):
            pipe.send(await _look(hub))


async def _enrol(settings: HubSettings, routers: int) -> None:
    database = await Database.open(settings.database_url)
    for start in range(0, routers, _CHUNK):
        numbers = range(start, min(start + _CHUNK, routers))
        await Entries(database).save_many(entries(numbers))
        await asyncio.sleep(0)
    await database.close()


async def _look(hub: Hub) -> Condition:
    silent = present = 0
    async for chunk in hub.hot.scan("router"):
        present += len(chunk)
        silent += sum(hub.is_silent(entry) for entry in chunk)
    reports = hub.report_counters.reports
    return Condition(reports, silent, present, time.process_time(), resident_bytes())
