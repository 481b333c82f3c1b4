"""A real browser for the tests that need one."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.store.servers import require

QUIETLY = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


# The one without windows needs less than half the processor, with the same engine for pages.
PROGRAMS = ("chromium-headless-shell", "chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Not for longer than a file: while it is open there is a loop, which others would find."""
    with launched() as browser:
        yield browser


@contextmanager
def launched() -> Iterator[Browser]:
    program = require(*PROGRAMS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=QUIETLY)
        yield browser
        browser.close()
