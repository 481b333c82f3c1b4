"""Links of a node beside the agent, as its control socket tells them."""

from pathlib import Path

import pytest

from rookery.agent.sampler import NodeLinkSampler
from rookery.runtime.control.server import FILE_NAME, ControlServer
from rookery.wire.fleet.telemetry import LinkTelemetry
from tests.runtime.colony import BOB, Colony


async def test_measured_links_are_reported(tmp_path: Path) -> None:
    control = await ControlServer.bind(Colony(), tmp_path / FILE_NAME)
    try:
        links = await NodeLinkSampler(tmp_path).sample()
    finally:
        await control.close()
    assert links == (
        LinkTelemetry(peer=BOB.hashname, path="tcp4", rtt_ms=0.412, loss=0.01, rate_kbps=96_000.0),
    )


async def test_a_node_that_is_away_has_no_links_and_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    links = NodeLinkSampler(tmp_path)
    assert await links.sample() == await links.sample() == ()
    assert len(caplog.records) == 1
    control = await ControlServer.bind(Colony(), tmp_path / FILE_NAME)
    try:
        assert len(await links.sample()) == 1
    finally:
        await control.close()
    assert await links.sample() == ()
    assert len(caplog.records) == 2
