"""F15: what every page has, in a real browser: search, menus, language, theme, copying, live."""

import time

import pytest
from playwright.sync_api import Page, expect

from rookery.fleet.rendezvous.placement import ServerLoad
from tests.e2e.web.conftest import PATIENCE_MS, OpenPage, ServedWorld
from tests.web.world import HASHNAME, MAC

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]


@pytest.fixture(scope="module")
def inhabited(served: ServedWorld) -> ServedWorld:
    served.account("alice")
    served.account("oscar", "operator")

    async def claim() -> None:
        account = await served.world.site.accounts.find("alice")
        assert account is not None
        await served.world.hub.report(MAC)
        await served.world.site.devices.claim(MAC, account.id, "attic", now=time.time() - 60.0)
        load = ServerLoad(HASHNAME, "192.0.2.9:1", "", b"", b"", 8, 3, 1, 0, 0, time.time())
        served.world.hub.loads = [load]

    served.call(claim())
    return served


def html(page: Page, name: str) -> str | None:
    return page.locator("html").get_attribute(name)


def test_search_by_keyboard_alone(inhabited: ServedWorld, open_page: OpenPage) -> None:
    assert inhabited.url
    page = open_page("alice")
    page.goto("/account")
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="Search")
    expect(box).to_be_focused()
    page.keyboard.type("atti")
    found = page.locator("#found").get_by_role("option")
    expect(found).to_have_count(1)
    expect(found).to_contain_text("attic")
    expect(box).to_have_attribute("aria-expanded", "true")
    expect(box).to_have_attribute("aria-activedescendant", "found-0")
    page.keyboard.press("Escape")
    expect(box).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("ArrowDown")
    expect(found).to_have_count(1)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/devices/{MAC.hex(':')}")


def test_a_search_that_finds_nothing_says_so(inhabited: ServedWorld, open_page: OpenPage) -> None:
    assert inhabited.url
    page = open_page("alice")
    page.goto("/account")
    page.get_by_role("combobox", name="Search").fill("<script>alert(1)</script>")
    expect(page.locator("#found")).to_contain_text("Nothing found")
    page.keyboard.press("Enter")
    page.get_by_label("Current password").press("/")  # typed there, it is a letter
    expect(page.get_by_label("Current password")).to_be_focused()


def test_theme_and_language_are_chosen_and_kept(
    inhabited: ServedWorld, open_page: OpenPage
) -> None:
    assert inhabited.url
    page = open_page("alice")
    page.goto("/account")
    assert html(page, "data-theme") is None
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("header summary", has_text="Language and theme").click()
    page.get_by_role("banner").get_by_role("button", name="Dark").click()
    page.wait_for_url("**/account")
    assert html(page, "data-theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.locator("header summary", has_text="Language and theme").click()
    page.get_by_role("banner").get_by_role("button", name="Русский").click()
    expect(page.get_by_role("heading", name="Учётная запись")).to_be_visible()
    elsewhere = open_page("alice")
    elsewhere.goto("/account")
    assert (html(elsewhere, "lang"), html(elsewhere, "data-theme")) == ("ru", "dark")
    body = {"language": None, "theme": None}
    assert elsewhere.context.request.put("/api/v1/me/preferences", data=body).ok


def test_the_menu_opens_on_a_phone_without_a_script(
    inhabited: ServedWorld, open_page: OpenPage
) -> None:
    assert inhabited.url
    page = open_page("oscar", width=390, height=800)
    page.route("**/*.js*", lambda route: route.fulfill(body="", content_type="text/javascript"))
    page.goto("/account")
    menu = page.locator("header summary", has_text="Menu").first
    expect(page.get_by_role("link", name="Matrix")).to_have_count(0)
    menu.click()
    page.get_by_role("link", name="Matrix").click()
    page.wait_for_url("**/fleet/matrix")
    expect(page.get_by_role("heading", name="Matrix", level=1)).to_be_visible()


def test_the_content_is_one_key_away(inhabited: ServedWorld, open_page: OpenPage) -> None:
    assert inhabited.url
    page = open_page("oscar")
    page.goto("/account")
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    for name in ("banner", "main", "contentinfo", "navigation", "search"):
        assert page.get_by_role(name).count() == 1, name


def test_the_command_is_copied(inhabited: ServedWorld, open_page: OpenPage) -> None:
    assert inhabited.url
    page = open_page("alice")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/account")
    button = page.get_by_role("button", name="Copy as CLI")
    button.click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "rookery login"
    expect(button).to_be_visible(timeout=PATIENCE_MS)


def test_a_page_is_live_until_its_session_ends(inhabited: ServedWorld, open_page: OpenPage) -> None:
    assert inhabited.url
    page = open_page("alice")
    page.goto("/")
    badge = page.locator("#live")
    expect(badge).to_have_text("Live")
    assert page.context.request.delete("/api/v1/session").ok
    expect(badge).to_have_text("Signed out", timeout=PATIENCE_MS)


def test_ages_go_on_by_themselves(inhabited: ServedWorld, open_page: OpenPage) -> None:
    assert inhabited.url
    page = open_page("alice")
    page.clock.install()
    page.goto("/account")
    seen = page.locator("tbody time").first
    expect(seen).to_contain_text("s ago")
    page.clock.fast_forward("10:00")
    expect(seen).to_contain_text("min ago")
