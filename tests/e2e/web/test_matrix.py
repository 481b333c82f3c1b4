"""R13: the matrix as an operator uses it: a real hub and a real mesh beside it."""

import re
from collections.abc import Iterator

import msgspec
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.web.axe import axe_source, grave_violations
from tests.e2e.web.conftest import OpenPage, ServedWorld
from tests.e2e.web.hub_mesh import LINKS, hub_mesh
from tests.web.world import SETTINGS

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

PATIENCE_MS = 30_000
expect.set_options(timeout=PATIENCE_MS)
MEMBERS = len(LINKS)
MANY = """async (count) => {
  const { MatrixTable } = await import("/static/matrix_table.js");
  const table = document.querySelector("table").cloneNode(true);
  document.querySelector("table").replaceWith(table);
  const members = Array.from({ length: count }, (_, n) => ({
    hashname: `node${n}`, name: `n${n}`, site: `site${n % 9}`, roles: [], is_up: true }));
  const known = { latency_ms: 7, loss: 0, age_s: 400, is_direct: true, via: [] };
  const cells = members.flatMap((a) => members.filter((b) => b !== a).map((b) => (
    { from: a.hashname, to: b.hashname, ...known })));
  const say = document.getElementById("matrix").dataset;
  const shown = new MatrixTable(table, { say, tell() {} });
  shown.show({ members, cells }, "latency", Date.now());
  return table.querySelectorAll("td a.fade-2").length;
}"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedWorld]:
    with hub_mesh(tmp_path_factory.mktemp("matrix")) as mesh:
        settings = msgspec.structs.replace(SETTINGS, node=mesh.control)
        made = ServedWorld(tmp_path_factory.mktemp("hub"), settings)
        made.account("olga", "operator")
        yield made
        made.close()


@pytest.fixture
def olga(open_page: OpenPage) -> Page:
    return at_matrix(open_page("olga"), "/fleet/matrix")


def at_matrix(page: Page, address: str) -> Page:
    page.goto(address)
    expect(page.locator("td a").filter(has_text=re.compile(r"\d"))).not_to_have_count(0)
    return page


def test_every_two_members_have_a_figure_with_its_age_by_site(olga: Page) -> None:
    expect(olga.locator("td a")).to_have_count(MEMBERS * (MEMBERS - 1))
    names = olga.locator("tbody th").all_inner_texts()
    assert names == [
        *("berlin-gw1", "berlin-gw2", "lisbon-gw1", "lisbon-n2"),
        *("oslo-gw1", "oslo-n2", "rome-gw1", "rome-n2", "laptop"),
    ]
    expect(olga.locator(".matrix-sites th")).to_have_text(["berlin", "lisbon", "oslo", "rome"])
    figure = olga.locator("tbody tr").nth(0).locator("a").nth(0)
    expect(figure).to_have_text(re.compile(r"^\d[\d.]*\d+ s$"))  # the figure, and its seconds
    figure.hover()
    label = re.compile(r"^berlin-gw1 → berlin-gw2: direct link · .* ms · loss .* % · age \d+ s$")
    expect(olga.locator("[data-matrix=route]")).to_have_text(label)
    expect(figure).to_have_attribute("title", label)


def test_arrows_go_from_figure_to_figure_and_enter_to_the_map(olga: Page) -> None:
    olga.locator("td a[tabindex='0']").focus()
    for key in ("End", "ArrowDown", "ArrowDown", "ArrowDown"):
        olga.keyboard.press(key)
    route = olga.locator("[data-matrix=route]")
    expect(route).to_contain_text("lisbon-n2 → laptop: over lisbon-gw1 → ")
    expect(olga.locator("th.is-pointed")).to_have_text(["laptop", "lisbon-n2"])
    olga.keyboard.press("Enter")
    olga.wait_for_url("**/fleet/map?from=lisbon-n2&to=laptop")
    expect(olga.get_by_role("heading", name="lisbon-n2 → laptop")).to_be_visible()
    expect(olga.locator(".is-used .map-chain")).to_contain_text("lisbon-n2 → lisbon-gw1")


def test_it_is_narrowed_by_site_and_name_and_shows_loss(olga: Page) -> None:
    olga.get_by_label("Site").select_option("oslo")
    expect(olga.locator("tbody th")).to_have_text(["oslo-gw1", "oslo-n2"])
    olga.get_by_label("Site").select_option("")
    olga.get_by_label("Members").fill("gw1")
    gateways = ["berlin-gw1", "lisbon-gw1", "oslo-gw1", "rome-gw1"]
    expect(olga.locator("tbody th")).to_have_text(gateways)
    olga.get_by_text("Loss", exact=True).first.click()
    expect(olga.get_by_role("list", name="Legend")).to_contain_text("≥ 10 %")
    assert olga.url.endswith("?by=loss&filter=gw1")
    at_matrix(olga, olga.url)
    expect(olga.locator("tbody th")).to_have_text(gateways)
    expect(olga.get_by_role("radio", name="Loss")).to_be_checked()
    olga.get_by_label("Members").fill("nobody")
    expect(olga.locator("td a")).to_have_count(0)


def test_a_hundred_members_fit_with_ages_that_fade(olga: Page) -> None:
    assert olga.evaluate(MANY, 100) == 100 * 99


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_grave(open_page: OpenPage, dark: bool) -> None:
    page = at_matrix(open_page("olga", dark=dark, has_policy=False), "/fleet/matrix")
    assert grave_violations(page, axe_source()) == []


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_scrolls_the_table_and_not_the_page(open_page: OpenPage, dark: bool) -> None:
    page = at_matrix(open_page("olga", dark=dark, width=390, height=844), "/fleet/matrix")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
