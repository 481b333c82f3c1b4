"""F9, F14 in a browser: what servers carry, what is expected of them, and draining one."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Route, expect

from rookery.fleet.rendezvous.placement import ServerLoad
from tests.e2e.web.conftest import OpenPage, ServedWorld
from tests.web.lake_world import SERVER, with_lake, write_lake
from tests.web.servers.test_status import load

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedWorld]:
    folder = tmp_path_factory.mktemp("served")
    made = ServedWorld(folder, with_lake(write_lake(folder / "lake")))
    made.account("olga", "operator")
    yield made
    made.close()


def report(served: ServedWorld, *loads: ServerLoad) -> None:
    served.world.hub.loads = list(loads)


def test_a_server_is_drained_by_keyboard_and_serves_again(
    served: ServedWorld, open_page: OpenPage
) -> None:
    report(served, load(used=40))
    page = open_page("olga")
    page.goto("/fleet/servers")
    row = page.locator(f'[data-server="{SERVER}"]')
    expect(row).to_contain_text("40 of 100")
    row.get_by_role("button", name="Drain").focus()
    page.keyboard.press("Enter")
    expect(row.get_by_text("draining")).to_be_visible()
    expect(row).to_contain_text("by olga")
    row.get_by_role("button", name="Serve again").click()
    expect(row.get_by_text("online")).to_be_visible()


def test_what_a_server_reports_shows_without_a_reload(
    served: ServedWorld, open_page: OpenPage
) -> None:
    report(served, load(used=41))
    page = open_page("olga")
    page.goto("/fleet/servers")
    row = page.locator(f'[data-server="{SERVER}"]')
    expect(row).to_contain_text("41 of 100")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    report(served, load(used=77))
    expect(row).to_contain_text("77 of 100")


def test_what_a_server_reports_before_the_stream_begins_shows_too(
    served: ServedWorld, open_page: OpenPage
) -> None:
    report(served, load(used=42))
    page = open_page("olga")

    def begin(route: Route) -> None:
        report(served, load(used=78))
        route.continue_()

    page.route("**/api/v1/live*", begin)
    page.goto("/fleet/servers")
    expect(page.locator(f'[data-server="{SERVER}"]')).to_contain_text("78 of 100")


def test_past_and_forecast_are_drawn(served: ServedWorld, open_page: OpenPage) -> None:
    report(served, load())
    page = open_page("olga", dark=True)
    page.goto("/fleet/servers")
    expect(page.locator("#outlooks canvas")).to_be_visible()
    expect(page.locator("#outlooks")).to_contain_text("confidence 50 %")


@pytest.mark.parametrize("path", ["/fleet", "/fleet/servers"])
def test_nothing_is_wider_than_a_phone(served: ServedWorld, open_page: OpenPage, path: str) -> None:
    report(served, load())
    page = open_page("olga", width=360, height=740)
    page.goto(path)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
