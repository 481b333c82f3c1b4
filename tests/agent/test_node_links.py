"""Links of a node beside the agent, as its control socket tells them."""

from pathlib import Path

import pytest

from rookery.agent.node_links import NodeLinks
from rookery.runtime.control import FILE_NAME, Control
from rookery.wire.telemetry import LinkSample
from tests.runtime.colony import BOB, Colony


async def test_links_that_are_measured_are_told(tmp_path: Path) -> None:
    control = await Control.bind(Colony(), tmp_path / FILE_NAME)
    try:
        links = await NodeLinks(tmp_path).sample()
    finally:
        await control.close()
    assert links == (
        LinkSample(peer=BOB.hashname, path="tcp4", rtt_ms=0.412, loss=0.01, rate_kbps=96_000.0),
    )


async def test_a_node_that_is_away_has_none_and_is_told_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    links = NodeLinks(tmp_path)
    assert await links.sample() == await links.sample() == ()
    assert len(caplog.records) == 1
    control = await Control.bind(Colony(), tmp_path / FILE_NAME)
    try:
        assert len(await links.sample()) == 1
    finally:
        await control.close()
    assert await links.sample() == ()
    assert len(caplog.records) == 2
