"""The tour that the demo prints, in a browser: P5, R13, F15, with the lake's past and an incident.

The README's pictures are made here, in the folder that ROOKERY_PICTURES names: `make pictures`.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from rookery.cli.demo.site_plan import DEVICES, NODES, RELAY, WATCHED, mac
from rookery.wire.fleet.mac import mac_text
from tests.e2e.demo.living import Living, eventually
from tests.e2e.web.conftest import watch

pytestmark = [pytest.mark.xdist_group("demo"), pytest.mark.slow]

PATIENCE_MS = 90_000


@pytest.fixture
def admin(browser: Browser, demo: Living) -> Iterator[Page]:
    """Signed in as the tour says; whatever the pages complain about fails the test."""
    context = browser.new_context(
        locale="en-US", base_url=demo.url, viewport={"width": 1280, "height": 860}
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    complaints: list[str] = []
    watch(page, demo.url, complaints)
    page.goto("/auth")
    page.get_by_label("Login").fill(str(demo.ready["login"]))
    page.get_by_label("Password").fill(str(demo.ready["password"]))
    page.get_by_role("main").get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("heading", name="My devices")).to_be_visible()
    yield page
    context.close()
    # Sockets to servers are where devices are met; nothing else leaves the hub.
    assert [each for each in complaints if "ws://127.0.0.1:" not in each] == []


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    return Path(os.environ.get("ROOKERY_PICTURES", tmp_path)).absolute()


def asked(demo: Living, sql: str) -> list[dict[str, object]]:
    told = demo.run("lake", "query", "--data", ".demo/lake", "--json", sql)
    return [json.loads(line) for line in told.splitlines()]


def test_the_past_is_that_of_the_living(demo: Living) -> None:
    devices = asked(demo, "SELECT DISTINCT device FROM insights.availability")
    assert {row["device"] for row in devices} == {mac_text(mac(place)) for place in DEVICES}
    nodes = asked(demo, "SELECT DISTINCT node FROM facts.link_samples WHERE realm <> ''")
    assert len(nodes) == len(NODES)


def test_what_it_teaches_is_exported(demo: Living) -> None:
    """P5."""
    for name in ("forecast.rka", "advice.rka"):
        file = demo.folder / "export" / name
        eventually(lambda file=file: file.exists() and file.stat().st_size > 0)  # type: ignore[misc]


def test_the_fleet_at_a_glance_and_in_insights(admin: Page, pictures: Path) -> None:
    """P5: with where each figure comes from."""
    admin.goto("/fleet")
    expect(admin.get_by_role("heading", name="Overview")).to_be_visible()
    expect(admin.get_by_role("main")).to_contain_text("12 of 12")
    expect(admin.get_by_role("main")).not_to_contain_text("no insights yet")
    admin.screenshot(path=pictures / "overview.png")
    admin.goto("/fleet/insights")
    admin.get_by_role("link", name="Availability").first.click()
    expect(admin.get_by_role("main")).to_contain_text("facts/uptime_intervals")
    admin.screenshot(path=pictures / "insight.png")


def test_a_way_is_explained_and_the_mesh_is_shown_as_it_was(admin: Page, pictures: Path) -> None:
    """R13."""
    one, other = WATCHED
    admin.goto(f"/fleet/map?from={one}&to={other}")
    side = admin.get_by_role("complementary", name="Details")
    expect(side.locator(".is-used .map-chain")).to_contain_text(one)
    expect(side.locator(".map-lines li").first).to_contain_text(other)
    admin.screenshot(path=pictures / "map.png")
    slider = admin.get_by_label("Time shown")
    expect(slider).to_be_enabled()
    slider.press("Home")
    expect(admin.get_by_role("switch", name="Live")).to_have_attribute("aria-checked", "false")
    expect(admin.locator("[data-time=now]")).to_contain_text("UTC")
    expect(admin.locator(".map-table tbody tr").first).to_be_visible()


def test_a_device_is_connected_to_and_called(admin: Page, pictures: Path) -> None:
    """F15."""
    admin.goto("/")
    admin.get_by_role("link", name="berlin-gw1", exact=True).click()
    admin.get_by_role("button", name="Connect").click()
    expect(admin.locator("#session-state")).to_have_text("connected")
    expect(admin.locator('#steps [data-step="reserving"] .reason')).to_contain_text("server")
    admin.get_by_label("Method", exact=True).fill("system.uptime")
    admin.get_by_role("button", name="Call", exact=True).click()
    expect(admin.locator("#calls > li").first.locator("pre")).to_contain_text(re.compile(r"\d"))
    admin.screenshot(path=pictures / "device.png")


def test_an_incident_is_seen_while_it_happens_and_when_it_is_over(
    admin: Page, demo: Living, pictures: Path
) -> None:
    admin.goto("/fleet/incidents")
    demo.run("demo", "incident")
    opened = admin.locator("[data-list=open]")
    expect(opened).to_contain_text(RELAY)
    admin.screenshot(path=pictures / "incident.png")
    demo.run("demo", "incident", "--over")
    expect(opened).not_to_contain_text(RELAY)
    expect(admin.locator("[data-list=over]")).to_contain_text(RELAY)
