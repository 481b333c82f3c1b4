"""F14 in a browser: insights as charts, strips, heat maps and rows, with their lineage."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import expect

from tests.e2e.web.axe import axe_source, grave_violations
from tests.e2e.web.conftest import OpenPage, ServedWorld
from tests.web.lake_world import DEVICE_MACS, HOSTILE, RUN, with_lake, write_lake

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedWorld]:
    folder = tmp_path_factory.mktemp("served")
    made = ServedWorld(folder, with_lake(write_lake(folder / "lake")))
    made.account("olga", "operator")
    yield made
    made.close()


def test_from_the_catalogue_to_rows_and_lineage(open_page: OpenPage) -> None:
    page = open_page("olga")
    page.goto("/fleet/insights")
    page.get_by_role("link", name="Availability by day").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Availability by day")
    expect(page.locator(".sla tbody tr").first).to_contain_text(DEVICE_MACS[1])  # the worst first
    expect(page.locator("#lineage ~ .facts")).to_contain_text(RUN)
    expect(page.locator(".flow")).to_contain_text("uptime_intervals")
    command = page.locator(".page-tools [data-copy]").get_attribute("data-copy")
    assert str(command).startswith("rookery lake query --data")


def test_a_chart_is_drawn_and_rows_are_taken_away(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page("olga")
    page.goto("/fleet/insights/traffic_hours")
    expect(page.locator("#chart canvas")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    file = tmp_path / "traffic.csv"
    download.value.save_as(file)
    assert file.read_text().startswith("device,interface,hour")


def test_the_hours_of_the_week_show_when_a_link_fades(open_page: OpenPage) -> None:
    page = open_page("olga", dark=True)
    page.goto("/fleet/insights/link_quality")
    expect(page.locator("td.heat-5")).to_have_count(3)
    page.get_by_label("Measure").select_option("up")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("td.heat-0")).to_have_count(168)


def test_a_hostile_name_is_only_shown(open_page: OpenPage) -> None:
    page = open_page("olga")
    page.goto("/fleet/insights/outages")
    expect(page.get_by_text(HOSTILE).first).to_be_visible()


def test_axe_finds_nothing_grave(open_page: OpenPage) -> None:
    source, page, found = axe_source(), open_page("olga", has_policy=False), {}
    for name in ("availability", "outages", "traffic_hours", "link_quality", "topology_health"):
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.goto(f"/fleet/insights/{name}")
            found[f"{name} {scheme}"] = grave_violations(page, source)
    assert {where: what for where, what in found.items() if what} == {}


@pytest.mark.parametrize("name", ["availability", "outages", "link_quality", "topology_health"])
def test_nothing_is_wider_than_a_phone(open_page: OpenPage, name: str) -> None:
    page = open_page("olga", width=360, height=740)
    page.goto(f"/fleet/insights/{name}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
