"""A person with a real browser: registers, adds a device, connects, calls a method."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.e2e.fleet.world import PASSWORD, PATIENCE_S, World
from tests.store.servers import require

pytestmark = pytest.mark.xdist_group("fleet")

PATIENCE_MS = PATIENCE_S * 1000
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture
def browser() -> Iterator[Browser]:
    program = require("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Page:
    page = browser.new_page(locale="en-US")
    page.set_default_timeout(PATIENCE_MS)
    return page


def test_a_person_adds_a_device_and_controls_it(page: Page, tmp_path: Path) -> None:
    """F11, F14, F15: nothing but the pages, and the one command that they show."""
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    with World(tmp_path) as world:
        world.server("north")
        url = world.hubs[0].url
        page.goto(url)
        page.get_by_role("link", name="Register").first.click()
        page.get_by_label("Login").fill("alice")
        page.get_by_label("Password").first.fill(PASSWORD)
        page.get_by_role("button", name="Register").click()
        expect(page.get_by_role("heading", name="My devices")).to_be_visible()

        page.get_by_role("button", name="Make a code").click()
        command = page.locator("#command").inner_text()
        attic = world.agent("attic", _code(command))
        alice = world.person("alice")
        alice.http.cookies.update(
            {str(each["name"]): str(each["value"]) for each in page.context.cookies()}
        )
        alice.await_device(attic.mac)

        page.goto(url)
        page.get_by_role("link", name="Connect").click()
        page.get_by_role("button", name="Connect").click()
        expect(page.locator("#steps li[data-step=done]")).to_be_visible(timeout=PATIENCE_MS)
        expect(page.locator("#steps li")).to_have_count(7)

        page.get_by_label("Method").fill("system.uptime")
        page.get_by_role("button", name="Call").click()
        expect(page.locator("#calls")).to_contain_text("machine_s", timeout=PATIENCE_MS)

        page.get_by_role("button", name="Sign out").click()
        page.goto(f"{url}/devices/{attic.mac}")
        expect(page.get_by_role("button", name="Connect")).to_have_count(0)
    assert [each for each in complaints if "401" not in each and "403" not in each] == []


def _code(command: str) -> str:
    """The code in the command that the page shows."""
    (code,) = [
        word.split("=")[-1].strip("'\"")
        for word in command.split()
        if word.replace("-", "").split("=")[-1].strip("'\"").isupper() and "-" in word
    ]
    return code
