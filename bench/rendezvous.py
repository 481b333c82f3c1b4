"""Rendezvous a second at one hub, and how long each takes from the call to the client's grant.

hub, with clients inside  ◀──UDP, TCP──▶  devices and servers, in a process of their own

Each rendezvous makes three connections with an RSA handshake, two of them at the hub. Devices
report all the time here; in life the call waits for the next report, up to 20 s.
"""

import asyncio
import os
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from bench.figure import Effort, Figure, middle
from bench.process import answer, child, ordered
from rookery.fleet.enrolment import secrets
from rookery.fleet.enrolment.code import EnrolmentCode
from rookery.fleet.rendezvous.seat_authority import SeatAuthority
from rookery.fleet.rendezvous.wish import WishStep
from rookery.hub.hub import Hub
from rookery.hub.settings import HubListenerLimits, HubSettings
from rookery.runtime.loop import run
from rookery.store.accounts.accounts import Accounts
from rookery.store.fleet.codes import EnrolmentCodes
from rookery.wire.fleet import messages
from rookery.wire.link.uri import LinkAddress
from tests.hub.device import FakeDevice
from tests.hub.identities import identity, mac
from tests.hub.server import Server

DEVICES = 16
SERVERS = 2
REPORT_S = 0.1

_SEATS = 1_000_000
_LISTENER = HubListenerLimits(
    address_connections_max=1000,
    address_per_s=1e6,
    address_burst=1e6,
    knocks_per_s=1e6,
    knocks_burst=1e6,
)


@dataclass(frozen=True, slots=True)
class Opened:
    """A hub that listens, and codes for its servers."""

    link: str
    codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Taken:
    """What clients saw in one turn."""

    waited_s: tuple[float, ...]  # from the call to the grant
    failed: int
    seconds: float
    worked_s: float  # of the hub's processor


def measure(effort: Effort) -> list[Figure]:
    turns = []
    with child(serve, effort.seconds) as hub:
        opened = answer(hub, Opened)
        with child(attend, opened) as others:
            assert answer(others, bool)
            for _ in range(effort.runs):
                hub.send(None)
                turns.append(answer(hub, Taken))
    failed = sum(turn.failed for turn in turns)
    assert not failed, f"{failed} wishes failed"
    waited = sorted(wait for turn in turns for wait in turn.waited_s)
    worked_ms = middle(turn.worked_s / len(turn.waited_s) * 1e3 for turn in turns)
    return [
        Figure(
            what=f"rendezvous, {DEVICES} routers at a time, {SERVERS} servers",
            value=middle(len(turn.waited_s) / turn.seconds for turn in turns),
            unit="/s",
            remark=f"{worked_ms:.1f} ms of the hub's processor each",
        ),
        Figure(
            what="from the call to the client's grant, p99",
            value=waited[int(len(waited) * 0.99)] * 1e3,
            unit="ms",
            remark=f"p50 {waited[len(waited) // 2] * 1e3:.0f} ms",
        ),
    ]


def serve(pipe: Connection, seconds: float) -> None:
    """The hub's process, and in it the clients as the web would ask for them."""
    with tempfile.TemporaryDirectory() as folder:
        run(_serve(pipe, Path(folder), seconds))


async def _serve(pipe: Connection, folder: Path, seconds: float) -> None:
    async with await Hub.start(HubSettings(data=folder, listener=_LISTENER, policy="open")) as hub:
        codes = tuple([await _code(hub, number) for number in range(SERVERS)])
        pipe.send(Opened(msgspec.json.encode(hub.link.json()).decode(), codes))
        while await ordered(pipe):
            pipe.send(await _turn(hub, seconds))


async def _turn(hub: Hub, seconds: float) -> Taken:
    began, worked_s = time.perf_counter(), time.process_time()
    async with asyncio.TaskGroup() as tasks:
        clients = [
            tasks.create_task(_client(hub, mac(number), began + seconds))
            for number in range(DEVICES)
        ]
    waited = [wait for client in clients for wait in client.result()]
    done = tuple(wait for wait in waited if wait is not None)
    ended, ended_s = time.perf_counter(), time.process_time()
    return Taken(done, len(waited) - len(done), ended - began, ended_s - worked_s)


async def _client(hub: Hub, device: bytes, until: float) -> list[float | None]:
    waited: list[float | None] = []
    while time.perf_counter() < until or not waited:
        wish = await hub.wish(device, "anna", SeatAuthority(bytes(32), None))
        waited.append(_wait_s([step async for step in hub.steps(wish)]))
    return waited


def _wait_s(steps: list[WishStep]) -> float | None:
    called, *_ = (step.at for step in steps if step.name == "called")
    return steps[-1].at - called if steps[-1].name == "done" else None


async def _code(hub: Hub, number: int) -> str:
    owner = await Accounts(hub.database).add(f"operator-{number}", "none", now=0.0)
    text = secrets.new_code(os.urandom)
    key = secrets.code_key(text)
    await EnrolmentCodes(hub.database).add(
        EnrolmentCode(
            id=secrets.code_id(key), key=key, kind="server", owner=owner.id, expires_at=4e9
        ),
        now=0.0,
    )
    return text


def attend(pipe: Connection, opened: Opened) -> None:
    """The process of devices and servers."""
    run(_attend(pipe, opened))


async def _attend(pipe: Connection, opened: Opened) -> None:
    link = LinkAddress.parse(opened.link)
    async with AsyncExitStack() as stack:
        for number, code in enumerate(opened.codes):
            server = Server(link, identity(f"server {number}"), code)
            await stack.enter_async_context(server)
            await server.report(seats_max=_SEATS)
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        working = []
        for number in range(DEVICES):
            device = FakeDevice(link, identity(f"router {number % 4}"), mac(number))
            await stack.enter_async_context(device)
            await device.report()
            working += [
                tasks.create_task(_report(device)),
                tasks.create_task(_visit(device)),
            ]
        pipe.send(True)
        while await ordered(pipe):
            pass
        for task in working:
            task.cancel()


async def _report(device: FakeDevice) -> None:
    while True:
        await device.report()
        await asyncio.sleep(REPORT_S)


async def _visit(device: FakeDevice) -> None:
    last = 0
    while True:
        wish = await device.calls.get()
        if wish == last:
            continue  # the call was repeated
        last = wish
        direct = await device.ask(wish)
        if isinstance(direct, messages.DirectMessage):
            await device.arrive(direct)
