"""The pages' API with a thousand devices that report and belong to one account: how long it takes.

    routers ──reports──▶ hub ◀──requests── one browser's worth        three processes

Each route in turns with `/healthz`, which is what any answer takes.
"""

import os
import statistics
import tempfile
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from pathlib import Path

from bench.figure import Effort, Figure, Goal
from bench.hub_reports import udp_port
from bench.hub_routers import Senders, Sockets, entries, mac
from bench.process import answer, child, ordered
from rookery.hub.hub import Hub
from rookery.hub.settings import HubSettings
from rookery.runtime.loop import run
from rookery.store.accounts.accounts import Accounts
from rookery.store.accounts.sessions import BrowserSession, BrowserSessions
from rookery.store.fleet.devices import Devices
from rookery.store.hubs.settings import Settings
from rookery.web.accounts.session_cookie import NAME, key_hash
from rookery.web.serve import serve as serve_pages

DEVICES = 1000
INTERVAL_S = 20.0
ROUTES = ("devices", "routers", "overview", "servers", "alerts", "search?q=gateway", "system")

_KEY = "a" * 43
_TICK_S = 0.05


@dataclass(frozen=True, slots=True)
class Opened:
    """A hub that listens."""

    udp: int
    http: int
    master: bytes


def measure(effort: Effort) -> list[Figure]:
    rounds = 5 if effort.is_quick else 200
    with ExitStack() as stack:
        hub = stack.enter_context(child(serve, None))
        opened = answer(hub, Opened)
        stack.enter_context(child(report, opened))
        http = stack.enter_context(closing(HTTPConnection("127.0.0.1", opened.http, timeout=30)))
        return [_figure(http, route, rounds) for route in ROUTES]


def _figure(http: HTTPConnection, route: str, rounds: int) -> Figure:
    took, least = [], []
    size = _ask(http, f"/api/v1/{route}")[1]
    for _ in range(rounds):
        took.append(_ask(http, f"/api/v1/{route}")[0])
        least.append(_ask(http, "/healthz")[0])
    return Figure(
        what=f"/api/v1/{route}, 95 of 100 answers within",
        value=_within(took),
        unit="ms",
        limit=_within(least),
        against="/healthz in turns",
        goal=Goal(value_max=100.0),
        remark=f"median {statistics.median(took):.1f} ms, {size / 1000:.0f} kB",
    )


def _within(took: list[float]) -> float:
    return statistics.quantiles(took, n=20)[18]


def _ask(http: HTTPConnection, path: str) -> tuple[float, int]:
    """Milliseconds and bytes of an answer."""
    began = time.perf_counter()
    http.request("GET", path, headers={"Cookie": f"{NAME}={_KEY}", "Accept": "application/json"})
    response = http.getresponse()
    size = len(response.read())
    assert response.status == 200, (path, response.status)
    return (time.perf_counter() - began) * 1000, size


def report(pipe: Connection, opened: Opened) -> None:
    """The routers' process: each reports in its turn, until the pipe closes."""
    senders, sequence, number = Senders(DEVICES, opened.master), 1, 0
    with closing(Sockets(opened.udp)) as sockets:
        while not pipe.poll(_TICK_S):
            count = round(DEVICES / INTERVAL_S * _TICK_S)
            sockets.send([senders.datagram(number + each, sequence) for each in range(count)])
            sockets.answers()
            number += count
            if number + count > DEVICES:
                number, sequence = 0, sequence + 1


def serve(pipe: Connection, _: None) -> None:
    """The hub's process."""
    with tempfile.TemporaryDirectory() as folder:
        run(_serve(pipe, Path(folder)))


async def _serve(pipe: Connection, folder: Path) -> None:
    settings = HubSettings(data=folder, udp="127.0.0.1:0", tcp="127.0.0.1:0", policy="open")
    async with await Hub.start(settings) as hub:
        await hub.hot.put(entries(range(DEVICES)))
        await _sign_in(hub)
        async with serve_pages(hub, "127.0.0.1", 0) as url:
            master = await Settings(hub.database).master_secret(os.urandom)
            pipe.send(Opened(udp_port(hub), int(url.rpartition(":")[2]), master))
            while await ordered(pipe):
                pass


async def _sign_in(hub: Hub) -> None:
    """An administrator whom all devices belong to."""
    now = time.time()
    account = await Accounts(hub.database).add("ann", "no password", now=now, role="admin")
    for number in range(DEVICES):
        await Devices(hub.database).claim(mac(number), account.id, f"gateway {number}", now=now)
    await BrowserSessions(hub.database).add(
        BrowserSession(key_hash(_KEY), account.id, now, now, now + 3600)
    )
