"""F14 in a browser: the fleet at a glance, live, in both languages and themes."""

import pytest
from playwright.sync_api import expect

from rookery.hub.registry.entry_writer import HubBacklog
from tests.e2e.web.conftest import OpenPage, ServedWorld

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

TILES = {
    "devices": "/fleet/devices",
    "incidents": "/fleet/incidents",
    "servers": "/fleet/servers",
    "mesh": "/fleet/map",
    "backlog": "/fleet/system",
    "lake": "/fleet/insights",
}

# The next answer's text is there when somebody calls `release`.
HELD_BACK = """() => {
  const text = Response.prototype.text;
  Response.prototype.text = async function () {
    Response.prototype.text = text;
    document.body.dataset.held = "yes";
    await new Promise((resolve) => { window.release = resolve; });
    return text.call(this);
  };
}"""


@pytest.fixture(autouse=True, scope="module")
def operator(served: ServedWorld) -> None:
    served.account("olga", "operator")


def test_each_tile_leads_to_its_page(open_page: OpenPage) -> None:
    page = open_page("olga")
    page.goto("/fleet")
    tiles = {
        str(tile.get_attribute("data-tile")): tile.get_attribute("href")
        for tile in page.locator("[data-tile]").all()
    }
    assert tiles == TILES


def test_figures_change_while_one_looks(served: ServedWorld, open_page: OpenPage) -> None:
    page = open_page("olga")
    page.goto("/fleet")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    tile = page.locator('[data-tile="devices"]')
    tile.focus()
    for number in range(1, 5):
        served.call(served.world.hub.report(bytes([2, 1, 0, 0, 0, number])))
    expect(tile).to_contain_text("4 of 4")
    served.world.hub.waiting = HubBacklog(9, 7_000_000, is_full=False, unsaved_entries=0)
    expect(page.locator('[data-tile="backlog"]')).to_contain_text("7 MB")
    expect(tile).to_be_focused()  # although it was rendered anew


def test_who_moves_while_figures_are_fetched_stays_there(
    served: ServedWorld, open_page: OpenPage
) -> None:
    page = open_page("olga")
    page.goto("/fleet")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    page.evaluate(HELD_BACK)
    served.world.hub.waiting = HubBacklog(9, 8_000_000, is_full=False, unsaved_entries=0)
    expect(page.locator("body")).to_have_attribute("data-held", "yes")
    tile = page.locator('[data-tile="devices"]')
    tile.focus()
    page.evaluate("release()")
    expect(page.locator('[data-tile="backlog"]')).to_contain_text("8 MB")
    expect(tile).to_be_focused()


def test_it_speaks_russian_and_is_dark(open_page: OpenPage) -> None:
    page = open_page("olga", dark=True, locale="ru-RU")
    page.goto("/fleet")
    expect(page.locator('[data-tile="devices"] h2')).to_have_text("Устройства на связи")
