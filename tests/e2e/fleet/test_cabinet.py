"""F6–F11, F14, F15 in a real browser: register, add a device, connect live, call a method."""

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from tests.e2e.fleet.world import PASSWORD, World, eventually
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.xdist_group("fleet"), pytest.mark.slow]

PATIENCE_MS = PATIENCE_S * 1000


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("cabinet")) as world:
        world.server("north")
        yield world


@pytest.fixture
def page(browser: Browser, world: World) -> Iterator[Page]:
    """A new browser window; whatever it complains about fails the test."""
    context = browser.new_context(locale="en-US", base_url=world.hubs[0].url)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert complaints == []


def register(page: Page, login: str) -> None:
    page.goto("/registation")
    page.get_by_label("Login").fill(login)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("heading", name="My devices")).to_be_visible()


def await_device(page: Page, mac: str) -> None:
    """Leaves the page with the list that has it."""

    def is_listed() -> bool:
        page.goto("/")
        return page.get_by_role("link", name=mac).count() > 0

    eventually(is_listed)


class LateMethods:
    """Carries a device's session, but keeps back which methods there are."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._kept: list[tuple[WebSocketRoute, str | bytes]] = []
        page.route_web_socket("**", self._carry)

    def tell(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not self._kept:
            assert time.monotonic() < deadline, "nobody asked for the methods"
            self._page.wait_for_timeout(20)
        for session, said in self._kept:
            session.send(said)

    def _carry(self, session: WebSocketRoute) -> None:
        def pass_on(said: str | bytes) -> None:
            if '"methods"' in str(said):
                self._kept.append((session, said))
            else:
                session.send(said)

        session.connect_to_server().on_message(pass_on)


def test_from_registering_to_the_answer_of_ones_device(page: Page, world: World) -> None:
    """F6–F11, F14, F15."""
    register(page, "alice")
    late = LateMethods(page)
    page.get_by_role("button", name="Make a code").click()
    command = page.locator("#command").inner_text()
    found = re.match(r"ROOKERY_CODE=([A-Z2-7-]{19}) rookery agent --hub '(.+)'$", command)
    assert found is not None
    agent = world.agent("attic", found[1])
    await_device(page, agent.mac)
    page.get_by_role("link", name=agent.mac).first.click()
    page.wait_for_url(f"**/devices/{agent.mac}")  # with its script; without it, it is a plain form
    page.get_by_role("button", name="Connect").click()
    page.wait_for_url(f"**/devices/{agent.mac}/console")
    expect(page.locator('#steps [data-step="done"]')).to_be_visible(timeout=PATIENCE_MS)
    names = page.locator("#steps li").evaluate_all("all => all.map(each => each.dataset.step)")
    assert names[0] == "wished"
    assert names[-1] == "done"
    expect(page.get_by_role("heading", name="Console")).to_be_visible(timeout=PATIENCE_MS)
    method = page.get_by_label("Method", exact=True)
    method.focus()
    late.tell()
    expect(page.get_by_role("button", name="net.interfaces")).to_be_visible()
    page.keyboard.type("system.info")  # which nobody has begun for us meanwhile
    expect(method).to_have_value("system.info")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.locator("#calls pre").last).to_contain_text('"machine"', timeout=PATIENCE_MS)
    page.locator("header summary", has_text="Account menu").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("link", name="Sign in").first).to_be_visible()


def test_a_device_named_like_a_script_runs_nothing(page: Page, world: World) -> None:
    """F15."""
    register(page, "mallory")
    page.get_by_role("button", name="Make a code").click()
    found = re.match(r"ROOKERY_CODE=(\S+)", page.locator("#command").inner_text())
    assert found is not None
    agent = world.agent("trap", found[1])
    await_device(page, agent.mac)
    page.goto(f"/devices/{agent.mac}/access")
    name = "<img src=x onerror=alert(1)>"
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Rename").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    page.goto("/")
    expect(page.get_by_role("link", name=name, exact=True)).to_be_visible()
