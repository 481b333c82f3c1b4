"""M12: what strangers can have a server keep; a real process, over WebSockets."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from rookery.wire.link.path import net_path
from rookery.wire.link.uri import LinkAddress
from tests.cli.program import running
from tests.server.browser import Browser
from tests.server.world import HUB

STRANGERS = 24
SIZE = 1 << 20
GROWTH_MAX = 8 << 20  # 153 MB when a megabyte of text was kept for each

pytestmark = pytest.mark.slow


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[int, tuple[str, int]]]:
    """Its process and where browsers come; its hub is away, which strangers cannot tell."""
    paths = (net_path("udp", "127.0.0.1", 9), net_path("tcp", "127.0.0.1", 9))
    link = tmp_path / "hub.link"
    link.write_text(json.dumps(LinkAddress(HUB.hashname, dict(HUB.keys), paths).json()))
    places = ("--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0")
    with running("server", "--hub", link, "--id", tmp_path / "server", *places) as process:
        line = process.line()
        assert line, process.error_line()
        web = urlsplit(json.loads(line)["ws"])
        assert web.hostname is not None
        assert web.port is not None
        yield process.pid, (web.hostname, web.port)


async def test_strangers_have_it_keep_little(server: tuple[int, tuple[str, int]]) -> None:
    pid, place = server
    memory = psutil.Process(pid).memory_info
    closed = await Browser.open(place)  # what the first one needs is no growth
    assert await closed.accepted() == 101
    before, largest = memory().rss, 0
    with ExitStack() as stack:
        browsers = [await Browser.open(place) for _ in range(STRANGERS)]
        for browser in browsers:
            stack.callback(browser.close)
            assert await browser.accepted() == 101
            browser.send("x" * SIZE, is_finished=False)
        for browser in browsers:
            await browser.closed()
            largest = max(largest, memory().rss)
    closed.close()
    assert largest - before < GROWTH_MAX
