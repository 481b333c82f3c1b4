"""P5: a hub follows forecasts of those it was told to believe, and can be stopped in seconds."""

import logging
import time
from pathlib import Path
from random import Random

import pytest

from rookery.fleet.entry import server_id
from rookery.fleet.rendezvous.placement import ServerLoad
from rookery.hub.clock import HubClock
from rookery.hub.rendezvous.forecasts import Forecasts
from rookery.hub.settings import HubSettings
from rookery.identity.artifact import seal
from rookery.identity.identity import Identity
from rookery.runtime.artifact_file import ArtifactState
from rookery.wire.fleet import messages
from rookery.wire.fleet.forecast import Forecast, ServerForecast
from tests.hub.conftest import Start, new_code, with_
from tests.hub.device import FakeDevice, until
from tests.hub.identities import ANNAS, identity, mac
from tests.hub.server import Server

LAKE = Identity.generate((0x40, 0x3A), Random(1).randbytes)
HOUR_MS = 3_600_000


def written(file: Path, *servers: str, by: Identity = LAKE, lasts_ms: int = HOUR_MS) -> None:
    """Each of them is empty now, and will be full within the hour."""
    now_ms = int(time.time() * 1000)
    begin_ms = now_ms - HOUR_MS // 2
    expected = tuple(
        ServerForecast(server_id(name), begin_ms, 3600, (0.0, 1.0, 1.0), 1.0) for name in servers
    )
    data = seal(Forecast(expected), by, issued_ms=begin_ms, expires_ms=now_ms + lasts_ms)
    aside = file.with_suffix(".new")
    aside.write_bytes(data)
    aside.replace(file)


def load(name: str) -> ServerLoad:
    return ServerLoad(name, "", "", b"", b"", 100, 0, 0, 0.1, 0.1, time.time())


@pytest.fixture
def following(settings: HubSettings, tmp_path: Path) -> HubSettings:
    return with_(settings, forecast=tmp_path / "forecast.rka", forecasters=(LAKE.hashname,))


async def test_servers_are_forecast_by_the_file_alone(following: HubSettings) -> None:
    assert following.forecast is not None
    rook, jay = identity("rook").hashname, identity("jay").hashname
    written(following.forecast, rook)
    forecasts = Forecasts(following, HubClock(60.0))
    ask = forecasts.ask([load(rook), load(jay)])
    assert ask is not None
    assert ask(rook) == pytest.approx(0.2)
    assert ask(jay) is None
    assert forecasts.state is ArtifactState.FOLLOWED
    assert forecasts.expires_s > time.time()


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"forecast": None}, ArtifactState.OFF),
        ({"is_forecast_followed": False}, ArtifactState.OFF),
        ({"forecasters": ()}, ArtifactState.REFUSED),
        ({"forecasters": (identity("mallory").hashname,)}, ArtifactState.REFUSED),
    ],
)
def test_nobody_is_believed_by_default_and_it_can_be_switched_off(
    following: HubSettings, changes: dict[str, object], state: ArtifactState
) -> None:
    assert following.forecast is not None
    written(following.forecast, "a" * 52)
    forecasts = Forecasts(with_(following, **changes), HubClock(60.0))
    assert forecasts.state is state
    assert forecasts.ask([load("a" * 52)]) is None
    assert forecasts.refused == (state is ArtifactState.REFUSED)


def test_what_expired_is_not_followed(following: HubSettings) -> None:
    assert following.forecast is not None
    written(following.forecast, "a" * 52, lasts_ms=0)
    forecasts = Forecasts(following, HubClock(60.0))
    assert forecasts.state is ArtifactState.STALE
    assert forecasts.ask([load("a" * 52)]) is None


async def test_a_hub_changes_its_mind_within_seconds_of_the_file(
    following: HubSettings, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    """P5: placement before, with and after a forecast; deleting the file is the kill switch."""
    caplog.set_level(logging.INFO)
    assert following.forecast is not None
    hub = await start(following)
    assert b'rookery_forecast_state{state="missing"} 1.0' in hub.metrics_text()
    link, names = hub.link, ("rook", "jay")
    servers = [Server(link, identity(name), await new_code(hub, "server")) for name in names]
    async with FakeDevice(link, identity("alice"), mac(1)) as device, servers[0], servers[1]:
        await servers[0].report(0)
        await servers[1].report(1)
        rook, jay = (each.identity.hashname for each in servers)

        async def preferred() -> str:
            """Whom the hub would choose now."""
            await device.report()
            wish = await hub.wish(mac(1), "anna", ANNAS)
            await device.report()
            direct = await device.ask(await device.called())
            await hub.cancel(wish)
            assert isinstance(direct, messages.DirectMessage)
            return direct.server.hashname

        assert await preferred() == rook
        written(following.forecast, rook)
        await until(lambda: b'forecast_state{state="followed"} 1.0' in hub.metrics_text())
        assert await preferred() == jay
        following.forecast.unlink()
        await until(lambda: b'forecast_state{state="missing"} 1.0' in hub.metrics_text())
        assert await preferred() == rook
    told = [record.message for record in caplog.records if "forecast" in record.message]
    assert f"following a forecast of 1 servers by {LAKE.hashname}" in told
    assert any("without a forecast" in line for line in told)
