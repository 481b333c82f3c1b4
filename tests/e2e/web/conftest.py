"""A hub for browsers, and a browser whose complaints and requests elsewhere fail the test."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from rookery.store.database.database import Database
from rookery.web.accounts.caller import Role
from rookery.web.serve import serve
from rookery.web.settings import WebSettings
from tests.e2e.conftest import launched
from tests.patience import PATIENCE_S
from tests.web.world import PASSWORD, SETTINGS, World, world

T = TypeVar("T")
OPENED = pytest.StashKey[Browser]()
PATIENCE_MS = 20_000
expect.set_options(timeout=PATIENCE_MS)


class ServedWorld:
    """A world of tests/web that real browsers reach, in a loop of its own."""

    def __init__(self, folder: Path, settings: WebSettings = SETTINGS) -> None:
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self._folder = folder
        self._settings = settings
        self.url = ""
        self.world: World
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._ready.wait(PATIENCE_S)

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something in the hub's loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def account(self, login: str, role: Role = "user") -> None:
        self.call(self.world.account(login, role))

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(PATIENCE_S)
        self._loop.close()

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        template = self._folder / "template.sqlite"
        database = await Database.open(f"sqlite:///{template}")
        await database.migrate()
        await database.close()
        async with (
            world(self._folder, template, self._settings) as self.world,
            serve(self.world.hub, "127.0.0.1", 0, self._settings) as self.url,
        ):
            self._ready.set()
            await self._stop.wait()


@pytest.fixture(scope="module")
def browser(request: pytest.FixtureRequest) -> Browser:
    """One for all tests of this folder, as none is a coroutine: a start costs more than most."""
    folder: pytest.Dir = request.node.getparent(pytest.Dir)
    opened = folder.stash.get(OPENED, None)
    if opened is None:
        stack = ExitStack()
        opened = folder.stash[OPENED] = stack.enter_context(launched())

        def close() -> None:
            del folder.stash[OPENED]
            stack.close()

        folder.addfinalizer(close)
    return opened


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedWorld]:
    """A hub of its own for each file."""
    made = ServedWorld(tmp_path_factory.mktemp("served"))
    yield made
    made.close()


class OpenPage(Protocol):
    """Opens a window; of who is signed in, in a theme, a size and a language.

    Without the pages' policy only where a test's own script would break it.
    """

    def __call__(
        self,
        login: str = "",
        *,
        dark: bool = False,
        width: int = 1280,
        height: int = 800,
        locale: str = "en-US",
        has_policy: bool = True,
    ) -> Page: ...


@pytest.fixture
def open_page(browser: Browser, served: ServedWorld) -> Iterator[OpenPage]:
    """New windows; whatever they complain about, or ask of another host, fails the test."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def opened(
        login: str = "",
        *,
        dark: bool = False,
        width: int = 1280,
        height: int = 800,
        locale: str = "en-US",
        has_policy: bool = True,
    ) -> Page:
        context = browser.new_context(
            bypass_csp=not has_policy,
            locale=locale,
            base_url=served.url,
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        watch(page, served.url, complaints)
        if login:
            body = {"login": login, "password": PASSWORD}
            answer = context.request.post("/api/v1/session", data=body)
            assert answer.status == 201, answer.text()
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """A window of somebody who is not signed in."""
    return open_page()


def watch(page: Page, url: str, complaints: list[str]) -> None:
    """Note what a page complains about, and each request that leaves the host."""
    host = urlsplit(url).netloc

    def on_request(address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("data", "blob") and parts.netloc != host:
            complaints.append(f"a request to {address}")

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            complaints.append(f"{message.text} {message.location['url']}")

    page.on("console", on_console)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: on_request(request.url))
    page.on("websocket", lambda socket: on_request(socket.url))
