"""F14, F15: an agent stops; its incident is seen live, acknowledged, muted, told and over."""

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.cli.program import rookery
from tests.e2e.fleet.world import PASSWORD, Agent, World, eventually, frozen
from tests.e2e.web.conftest import PATIENCE_MS, watch

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]

SECRET = "a secret for browsers"
SLOWLY_MS = 40_000
NAME = "<script>alert(1)</script>"


class Receiver(ThreadingHTTPServer):
    """Takes webhooks whose signature holds."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.received: list[tuple[str, str, str]] = []  # event, title, delivery

    @property
    def events(self) -> list[str]:
        return [event for event, _, _ in self.received]


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        stamp, mac = (part[part.index("=") + 1 :] for part in self._signature.split(","))
        signed = stamp.encode() + b"." + body
        ours = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(ours, mac):
            self.send_error(403)
            return
        notice = json.loads(body)
        self.server.received.append((notice["event"], notice["alert"]["title"], notice["delivery"]))
        self.send_response(204)
        self.end_headers()

    @property
    def _signature(self) -> str:
        return self.headers["Rookery-Signature"]

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Nothing."""


@contextmanager
def receiving() -> Iterator[Receiver]:
    with Receiver() as receiver:
        thread = threading.Thread(target=receiver.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield receiver
        finally:
            receiver.shutdown()
            thread.join()


class Fleet:
    """A hub that tells by webhook, one device of Olga's, who is an operator, and her window."""

    def __init__(self, world: World, receiver: Receiver, page: Page, agent: Agent) -> None:
        self.world = world
        self.receiver = receiver
        self.page = page
        self.agent = agent


@pytest.fixture
def fleet(browser: Browser, tmp_path: Path) -> Iterator[Fleet]:
    secret = tmp_path / "hook.secret"
    secret.write_text(SECRET)
    with receiving() as receiver:
        url = f"http://127.0.0.1:{receiver.server_address[1]}/hook"
        hooks = ("--alert-webhook", url, "--alert-secret-file", str(secret), "--alert-after", "1")
        with World(tmp_path, None, 1, *hooks) as world:
            olga = world.person("olga")
            olga.register()
            agent = world.agent("attic", olga.code())
            olga.await_device(agent.mac)
            renamed = olga.http.patch(f"/api/v1/devices/{agent.mac}", json={"name": NAME})
            assert renamed.status_code == 200
            world.hubs[0].fleet("account", "role", "olga", "operator")
            with signed_in(browser, world) as page:
                yield Fleet(world, receiver, page, agent)


@contextmanager
def signed_in(browser: Browser, world: World) -> Iterator[Page]:
    url = world.hubs[0].url
    complaints: list[str] = []
    context = browser.new_context(
        locale="en-US", base_url=url, viewport={"width": 1280, "height": 800}
    )
    body = {"login": "olga", "password": PASSWORD}
    assert context.request.post("/api/v1/session", data=body).status == 201
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    watch(page, url, complaints)
    yield page
    context.close()
    assert complaints == []


def test_from_a_silent_agent_to_a_notified_and_ended_incident(fleet: Fleet) -> None:
    page = fleet.page
    page.goto("/fleet/incidents")
    expect(page.get_by_text("No open incidents")).to_be_visible()
    with frozen(fleet.agent.running):
        title = page.get_by_role("link", name=f"{NAME} is silent", exact=True).first
        expect(title).to_be_visible(timeout=SLOWLY_MS)  # without a reload
        eventually(lambda: fleet.receiver.events == ["raised"])

        entry = page.locator("li.incident")
        entry.get_by_role("button", name="Acknowledge").click()
        expect(entry.get_by_text("seen by olga")).to_be_visible()
        entry.locator("summary", has_text="Mute").click()
        entry.get_by_role("button", name="for 8 hours").click()
        expect(entry.get_by_text("muted until")).to_be_visible()
        entry.get_by_role("button", name="Unmute").click()
        expect(entry.get_by_text("muted until")).to_have_count(0)
        by_command_line(fleet)

        title.click()
        expect(page.get_by_role("heading", level=1, name=f"{NAME} is silent")).to_be_visible()
        expect(page.get_by_text("Notification sent")).to_be_visible()
    expect(page.locator(".story li[data-what=resolved]")).to_be_visible(timeout=SLOWLY_MS)
    eventually(lambda: fleet.receiver.events == ["raised", "resolved"])
    assert len({delivery for _, _, delivery in fleet.receiver.received}) == 2
    page.goto("/fleet/incidents")
    expect(page.locator("table.over").get_by_text(f"{NAME} is silent")).to_be_visible()


def by_command_line(fleet: Fleet) -> None:
    """`rookery fleet alerts`, `ack` and `mute`, as the same operator."""
    data = ["--data", str(fleet.world.folder / "cli")]
    url = fleet.world.hubs[0].url
    password = f"{PASSWORD}\n".encode()
    assert rookery("login", url, "--login", "olga", *data, stdin=password).code == 0
    listed = rookery("fleet", "alerts", "--json", *data).json()
    assert (listed["title"], listed["acknowledged_by"]) == (f"{NAME} is silent", "olga")
    number = str(listed["id"])
    muted = rookery("fleet", "mute", number, "--for", "8h", *data)
    assert "muted for 7 h 59 min" in muted.out or "muted for 8 h" in muted.out
    assert "open" not in rookery("fleet", "ack", number, *data).out
    assert rookery("fleet", "mute", number, "--for", "0", *data).code == 0
    assert "raised" in rookery("fleet", "alerts", number, *data).out
