"""F6–F11, F15: devices in a browser, on a real hub with a server and agents."""

import re
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect

from tests.cli.program import Running, running
from tests.e2e.fleet.world import PASSWORD, World, eventually

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]

PATIENCE_MS = 60_000
ALLOWED = "/bin/echo *\n/bin/ls *\n"
SCRIPT = "<script>alert(1)</script>"
STEPS = ["wished", "called", "router_here", "reserving", "directed", "arrived", "done"]
TABS = ("Console", "Telemetry", "Links", "Routes", "Queue", "Events", "Keys and access")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("devices")) as world:
        world.server("north")
        yield world


Agents = Callable[..., Running]


@pytest.fixture(scope="module")
def agents(world: World) -> Iterator[Agents]:
    """Starts agents that may run some commands from afar."""
    with ExitStack() as stack:

        def start(name: str, mac: str, code: str = "") -> Running:
            allowed = Path(world.folder / f"{name}.allowed")
            allowed.write_text(ALLOWED)
            allowed.chmod(0o600)
            options: list[str | Path] = ["--mac", mac, "--interval", "1", "--allow-exec", allowed]
            if code:
                (world.folder / f"{name}.code").write_text(code)
                options += ["--claim-file", world.folder / f"{name}.code"]
            identity = world.folder / name
            hub = world.hubs[0].link
            return stack.enter_context(running("agent", "--hub", hub, "--id", identity, *options))

        yield start


@pytest.fixture
def open_as(browser: Browser, world: World) -> Iterator[Callable[[str], Page]]:
    """A window of a new account; whatever it complains about fails the test."""
    complaints: list[str] = []
    with ExitStack() as stack:

        def opened(login: str) -> Page:
            context = browser.new_context(locale="en-US", base_url=world.hubs[0].url)
            stack.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(PATIENCE_MS)
            page.on("console", lambda printed: note(printed, complaints))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.goto("/registration")
            page.get_by_label("Login").fill(login)
            page.get_by_label("Password").fill(PASSWORD)
            page.get_by_role("button", name="Register").click()
            expect(page.get_by_role("heading", name="My devices")).to_be_visible()
            return page

        yield opened
    assert complaints == []


def note(message: ConsoleMessage, complaints: list[str]) -> None:
    if message.type == "error":
        complaints.append(message.text)


def added(page: Page, agents: Agents, name: str, mac: str) -> None:
    """With a code, until the page itself says that the device is there."""
    page.goto("/add")
    page.get_by_role("button", name="Make a code").click()
    expect(page.get_by_role("img", name="QR code of the command")).to_be_visible()
    found = re.search(r"ROOKERY_CODE=(\S+) rookery agent", page.locator("#command").inner_text())
    assert found is not None
    agents(name, mac, found[1])
    page.locator("#waiting").get_by_role("link", name=mac).click(timeout=PATIENCE_MS)
    page.wait_for_url(f"**/devices/{mac}")


def connected(page: Page, mac: str) -> None:
    page.goto(f"/devices/{mac}")
    button = page.get_by_role("button", name="Connect")
    expect(button).to_be_enabled(timeout=PATIENCE_MS)
    button.click()
    page.wait_for_url(f"**/devices/{mac}/console")
    expect(page.locator("#session-state")).to_have_text("connected", timeout=PATIENCE_MS)


def steps(page: Page) -> list[str]:
    return page.locator("#steps li").evaluate_all("all => all.map(each => each.dataset.step)")  # type: ignore[no-any-return]


def test_a_device_is_added_connected_to_and_called(
    open_as: Callable[[str], Page], agents: Agents
) -> None:
    """F6–F11, F15: without one reload by hand."""
    page, mac = open_as("ann"), "02:00:00:00:0a:01"
    added(page, agents, "attic", mac)
    connected(page, mac)
    assert steps(page) == STEPS
    chosen = page.locator('#steps [data-step="reserving"]')
    expect(chosen.locator(".reason")).to_contain_text("Why this server")
    expect(chosen.locator(".reason")).to_contain_text("seats taken")
    expect(chosen.locator(".at")).to_contain_text("s")
    called_by_form(page)
    called_by_hand(page)
    used_as_a_terminal(page)


def called_by_form(page: Page) -> None:
    method = page.get_by_label("Method", exact=True)
    method.fill("proc")
    page.locator("#method-list").get_by_role("button", name="system.processes").click()
    page.locator('#params [name="limit"]').fill("2")
    page.locator('#params [name="order"]').select_option("memory")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(answer(page)).to_contain_text('"pid"')
    page.locator('#params [name="limit"]').fill("2000000")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.locator("#call-problem")).to_contain_text("limit")
    method.fill("net.resolve")
    page.locator('#params [name="name"]').fill("127.0.0.1")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(answer(page)).to_have_text(re.compile(r'^\[\s*"127.0.0.1"\s*\]$'))
    page.locator("#past").get_by_role("button", name="Repeat: system.processes").click()
    expect(page.locator("#calls > li")).to_have_count(3)
    expect(answer(page)).to_contain_text('"pid"')


def called_by_hand(page: Page) -> None:
    page.get_by_label("Method", exact=True).fill("net.resolve")
    page.get_by_label("Raw JSON").check()
    page.get_by_label("Parameters (JSON)").fill("[oops")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.locator("#call-problem")).to_contain_text("no JSON")
    page.get_by_label("Parameters (JSON)").fill('["127.0.0.2"]')
    page.get_by_role("button", name="Call", exact=True).click()
    expect(answer(page)).to_contain_text('"127.0.0.2"')
    page.get_by_label("Method", exact=True).fill("no.such")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(answer(page)).to_contain_text("-32601")


def answer(page: Page) -> Locator:
    """The newest."""
    return page.locator("#calls > li").first.locator("pre")


def used_as_a_terminal(page: Page) -> None:
    page.get_by_role("tab", name="Terminal").click()
    line, screen = page.locator("#command"), page.locator("#screen")
    expect(line).to_be_focused()
    line.fill("/bin/echo 'two  words'")
    line.press("Enter")
    expect(screen.locator(".out")).to_have_text("two  words")
    line.fill("/bin/ls /nowhere-at-all")
    line.press("Enter")
    expect(screen.locator(".code")).to_contain_text("exit code")
    line.fill("/sbin/reboot")
    line.press("Enter")
    expect(screen).to_contain_text("--allow-exec")
    expect(screen.locator(".note").last).to_contain_text("/sbin/reboot")
    for _ in range(3):
        line.press("ArrowUp")
    expect(line).to_have_value("/bin/echo 'two  words'")
    page.get_by_role("button", name="Disconnect").click()
    expect(page.locator("#session-state")).to_have_text("not connected")
    line.press("Enter")
    expect(screen.locator(".err").last).to_contain_text("press Connect")


def test_each_tab_shows_something_and_anothers_device_is_refused(
    open_as: Callable[[str], Page], agents: Agents
) -> None:
    """F15."""
    page, mac = open_as("bea"), "02:00:00:00:0b:01"
    added(page, agents, "barn", mac)
    for tab in TABS:
        page.get_by_role("navigation", name="Parts of this page").get_by_role(
            "link", name=tab, exact=True
        ).click()
        expect(page.get_by_role("link", name=tab, exact=True)).to_have_attribute(
            "aria-current", "page"
        )
        if tab == "Telemetry":
            expect(page.locator(".chart canvas").first).to_be_visible()
    page.get_by_label("Name").fill(SCRIPT)
    page.get_by_role("button", name="Rename").click()
    expect(page.get_by_role("heading", name=SCRIPT)).to_be_visible()
    page.goto("/")
    expect(page.get_by_role("link", name=SCRIPT, exact=True)).to_be_visible()
    mallory = open_as("mallory")
    expect(mallory.get_by_text("Add your first device")).to_be_visible()
    for path in ("", "/console", "/access", "/telemetry", "/queue"):
        assert mallory.request.get(f"/devices/{mac}{path}").status == 403
    for path in ("", "/report", "/telemetry", "/events", "/route", "/queue"):
        assert mallory.request.get(f"/api/v1/devices/{mac}{path}").status == 403
    assert mallory.request.post(f"/api/v1/devices/{mac}/connect").status == 403


def test_a_device_is_claimed_with_the_code_that_it_shows_and_goes_silent_live(
    open_as: Callable[[str], Page], agents: Agents
) -> None:
    """F15."""
    page, mac = open_as("cleo"), "02:00:00:00:0c:01"
    agent = agents("cellar", mac)
    printed: list[str] = []

    def is_code_shown() -> bool:
        printed.append(agent.errors())
        return "claim code" in "".join(printed)

    eventually(is_code_shown)
    found = re.search(r"claim code (\S+)", "".join(printed))
    assert found is not None
    page.goto("/add")
    page.get_by_label("MAC address").fill(mac)
    page.get_by_label("Code that the device shows").fill(found[1])
    page.get_by_label("Name").fill("cellar")
    page.get_by_role("button", name="Claim").click()
    expect(page.get_by_role("heading", name="cellar")).to_be_visible()
    page.goto("/")
    row = page.locator(f'tr[data-key="{mac}"]')
    expect(row.locator(".badge").first).to_have_text("online")
    agent.signal(signal.SIGKILL)
    expect(row.locator(".badge").first).to_have_text("silent")
    expect(row.get_by_role("link", name="Connect")).to_be_hidden()
