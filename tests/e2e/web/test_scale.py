"""Pages and API with no device, one, and a thousand that report; how quick they are."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import pytest
from playwright.sync_api import Browser, Page

from rookery.store.accounts.accounts import Accounts
from rookery.store.database.database import Database
from rookery.store.fleet.devices import Devices
from rookery.wire.fleet.mac import parse_mac
from tests.cli.program import running
from tests.e2e.fleet.world import PASSWORD, Person, World, eventually
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]

MANY = 1000
PAGES = (
    *("/", "/account", "/fleet", "/fleet/devices", "/fleet/map", "/fleet/matrix"),
    *("/fleet/servers", "/fleet/incidents", "/fleet/insights", "/fleet/topics"),
    *("/fleet/audit", "/fleet/system"),
)
CALLS = (
    *("/devices", "/routers", "/servers", "/overview", "/alerts", "/search?q=02:", "/me"),
    *("/system", "/audit"),
)
ROUNDS = 12
CALL_MS = 100.0
PAINT_MS = 1000.0
FIRST_PAINT = """() => new Promise((resolve) => {
  const look = (list) => {
    const [found] = list.getEntriesByName("first-contentful-paint");
    if (found) resolve(found.startTime);
  };
  new PerformanceObserver(look).observe({ type: "paint", buffered: true });
})"""
TRIES = 3  # other tests run beside: the best of them counts


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("scale")) as world:
        hub = world.hubs[0]
        hub.fleet("account", "add", "ann", "--role", "admin", stdin=PASSWORD)
        yield world


@pytest.fixture(scope="module")
def ann(world: World) -> Person:
    person = world.person("ann")
    body = {"login": "ann", "password": PASSWORD}
    assert person.http.post("/api/v1/session", json=body).status_code == 201
    return person


def failing_pages(person: Person) -> list[str]:
    """Pages that are not shown, with why."""
    failing = []
    for path in PAGES:
        answer = person.http.get(path, headers={"Accept": "text/html"})
        if answer.status_code != 200 or "<main" not in answer.text:
            failing.append(f"{path}: {answer.status_code}")
    return failing


def macs(person: Person) -> list[str]:
    """Of all routers that the hub knows."""
    found: list[str] = []
    after: dict[str, str] = {}
    while True:
        page = person.http.get("/api/v1/routers", params={"count": "500", **after}).json()
        found += [router["mac"] for router in page["routers"]]
        if page["next"] is None:
            return found
        after = {"after": page["next"]}


async def claim(database: Path, found: list[str]) -> None:
    """As if Ann had typed every one's code."""
    opened = await Database.open(f"sqlite:///{database}")
    try:
        account = await Accounts(opened).find("ann")
        assert account is not None
        for number, mac in enumerate(found):
            await Devices(opened).claim(
                parse_mac(mac), account.id, f"gateway {number}", now=time.time()
            )
    finally:
        await opened.close()


def worked_ms(person: Person, path: str, hub: psutil.Process) -> float:
    """Processor time of the hub for one answer, with all reports that come meanwhile.

    By the clock it depends on what runs beside; `python -m bench web` measures that.
    """
    person.http.get(f"/api/v1{path}")
    began_s = processor_s(hub)
    for _ in range(ROUNDS):
        answer = person.http.get(f"/api/v1{path}")
        assert answer.status_code == 200, (path, answer.text[:300])
    return (processor_s(hub) - began_s) * 1000 / ROUNDS


def processor_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def test_every_page_is_there_without_a_device_and_with_one(world: World, ann: Person) -> None:
    assert failing_pages(ann) == []
    agent = world.agent("attic", ann.code())
    ann.await_device(agent.mac)
    assert failing_pages(ann) == []


def test_a_thousand_devices_report_and_everything_stays_quick(
    world: World, ann: Person, browser: Browser
) -> None:
    hub = world.hubs[0]
    with running(
        *("fleet", "simulate", "--hub", hub.link, "--routers", str(MANY)),
        *("--interval", "3", "--json"),
    ) as crowd:
        crowd.line(PATIENCE_S)
        eventually(lambda: len(macs(ann)) >= MANY, 120)
        with ThreadPoolExecutor(1) as executor:  # Playwright has a loop in this thread already
            executor.submit(
                asyncio.run, claim(hub.folder / "hub.sqlite", macs(ann)[:MANY])
            ).result()
        assert failing_pages(ann) == []
        process = psutil.Process(hub.running.pid)
        worked = {path: worked_ms(ann, path, process) for path in CALLS}
        print({path: round(ms, 1) for path, ms in worked.items()})
        assert {path: ms for path, ms in worked.items() if ms > CALL_MS} == {}
        painted = painted_ms(browser, ann.http)
        print({path: round(ms) for path, ms in painted.items()})
        assert {path: ms for path, ms in painted.items() if ms > PAINT_MS} == {}


def painted_ms(browser: Browser, http: httpx.Client) -> dict[str, float]:
    """When the first content of each page appeared, at best, in a browser that knows the site."""
    context = browser.new_context(locale="en-US", base_url=str(http.base_url))
    context.add_cookies(
        [
            {"name": each.name, "value": str(each.value), "url": str(http.base_url)}
            for each in http.cookies.jar
        ]
    )
    page = context.new_page()
    page.goto("/account")
    found = {path: min(first_paint_ms(page, path) for _ in range(TRIES)) for path in PAGES}
    context.close()
    return found


def first_paint_ms(page: Page, path: str) -> float:
    page.goto(path)
    return float(page.evaluate(FIRST_PAINT))
