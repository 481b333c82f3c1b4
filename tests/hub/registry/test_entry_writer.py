"""What outlives a hub: one that is told to end, and one that is killed."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import msgspec
import pytest

from rookery.hub.hub import Hub
from rookery.hub.settings import HubSettings, ReportLimits, SpoolLimits
from rookery.store.database.database import Database
from rookery.store.fleet.entries import Entries
from rookery.store.spool import watermark
from rookery.store.spool.reader import SpoolReader
from rookery.wire.fleet import telemetry
from rookery.wire.fleet.telemetry import DeviceReport
from rookery.wire.link.uri import LinkAddress
from rookery.wire.observation import DEVICE
from tests.hub.conftest import Start
from tests.hub.device import FakeDevice, until
from tests.hub.identities import identity, mac
from tests.hub.reports.test_reports import spooled
from tests.patience import PATIENCE_S


async def test_the_registry_is_in_the_database_once_a_hub_has_ended(
    hub: Hub, settings: HubSettings
) -> None:
    """F2"""
    async with FakeDevice(hub.link, identity("alice"), mac(1)) as device:
        await device.report()
    await hub.close()
    database = await Database.open(settings.database_url)
    (entry,) = await Entries(database).find([mac(1)])
    await database.close()
    assert entry is not None
    assert (entry.hashname, entry.sequence) == (device.identity.hashname, 1)


async def test_the_registry_is_written_periodically(settings: HubSettings, start: Start) -> None:
    """F2"""
    hub = await start(msgspec.structs.replace(settings, flush_s=0.05))
    async with FakeDevice(hub.link, identity("alice"), mac(1)) as device:
        await device.report()
    entries = Entries(hub.database)
    async with asyncio.timeout(PATIENCE_S):
        while await entries.find([mac(1)]) == [None]:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_a_hub_that_starts_again_knows_everybody(settings: HubSettings, start: Start) -> None:
    """F2"""
    hub = await start(settings)
    async with FakeDevice(hub.link, identity("alice"), mac(1)) as device:
        await device.report()
        state = device.core.state
    await hub.close()
    (settings.data / "hot.snapshot").unlink()  # the database suffices
    hub = await start(settings)
    async with FakeDevice(hub.link, identity("alice"), mac(1), state=state) as device:
        await device.report()
        assert device.core.counters.hellos == 0


async def test_what_the_lake_has_room_for_is_kept_and_the_rest_is_trimmed(
    settings: HubSettings, start: Start
) -> None:
    limits = SpoolLimits(segment_bytes=2000, keep_bytes=3000, bytes_max=100_000)
    hub = await start(msgspec.structs.replace(settings, spool=limits, flush_s=0.05))
    async with FakeDevice(hub.link, identity("alice"), mac(1)) as device:
        for _ in range(300):
            device.send(DeviceReport(t=1))
        await device.delivered()
    folder = settings.data / "spool"
    await until(lambda: sum(file.stat().st_size for file in folder.iterdir()) < 8000)


async def test_p3_nothing_is_trimmed_before_it_has_landed_and_a_full_spool_says_so(
    settings: HubSettings, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    """Once there is a lander: the spool fills, the hub acknowledges no more, until some landed."""
    folder = settings.data / "spool"
    folder.mkdir()
    watermark.save(folder, 0)
    limits = SpoolLimits(segment_bytes=2000, keep_bytes=3000, bytes_max=12_000)
    few = ReportLimits(batch_max=10)
    hub = await start(msgspec.structs.replace(settings, spool=limits, reports=few, flush_s=0.05))
    async with FakeDevice(hub.link, identity("alice"), mac(1)) as device:
        for _ in range(300):
            device.send(DeviceReport(t=1))
        await until(lambda: "rookery_spool_is_full 1.0" in hub.metrics_text().decode())
        kept = [each.data for each in SpoolReader(folder)]
        await until(lambda: device.core.counters.acknowledged >= len(kept) - 1)  # one enrols
        assert device.core.counters.acknowledged < 300
        assert "rookery_spool_unlanded_bytes" in hub.metrics_text().decode()
        assert [each for each in caplog.messages if "takes nothing more: it has its 12000" in each]
        after = list(SpoolReader(folder))
        assert [each.data for each in after][: len(kept)] == kept
        watermark.save(folder, after[len(after) // 2].position)
        await until(lambda: kept[0] not in {each.data for each in SpoolReader(folder)})
        acknowledged = device.core.counters.acknowledged
        watermark.save(folder, 2**60)
        await until(lambda: device.core.counters.acknowledged > acknowledged)


async def test_p3_a_mark_that_cannot_be_read_keeps_everything(
    settings: HubSettings, start: Start
) -> None:
    folder = settings.data / "spool"
    folder.mkdir()
    (folder / "landed").write_text("here")
    limits = SpoolLimits(segment_bytes=2000, keep_bytes=3000)
    hub = await start(msgspec.structs.replace(settings, spool=limits, flush_s=0.05))
    async with FakeDevice(hub.link, identity("alice"), mac(1)) as device:
        for _ in range(100):
            device.send(DeviceReport(t=1))
        await device.delivered()
    await hub.close()  # which would trim
    assert len(list(SpoolReader(folder))) == 101  # with the enrolment


async def begin_hub(folder: Path) -> tuple[Process, LinkAddress]:
    options = ["--data", str(folder), "--http", "none", "--policy", "open"]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from rookery.cli.main import run; run()", "hub", *options),
        *("--udp", "127.0.0.1:0", "--tcp", "127.0.0.1:0"),
        stdout=PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(3 * PATIENCE_S):
        line = await process.stdout.readline()
    return process, LinkAddress.of_json(json.loads(line))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_no_acknowledged_report_is_lost_whatever_ends_the_hub(
    settings: HubSettings, start: Start, number: signal.Signals
) -> None:
    """F2: kill -9 in the middle of a stream of reports, right after a device has enrolled."""
    process, link = await begin_hub(settings.data)
    devices = [FakeDevice(link, identity(f"router {n % 3}"), mac(n)) for n in range(6)]
    for device in devices:
        await device.open()
        for _ in range(40):
            device.send(DeviceReport(t=1))
    await until(lambda: all(each.core.counters.acknowledged > 3 for each in devices))
    process.send_signal(number)
    async with asyncio.timeout(PATIENCE_S):
        assert await process.wait() == (0 if number == signal.SIGTERM else -number)
    for device in devices:
        device.close()
    hub = await start(settings)
    for device in devices:
        entry = await hub.entry(device.id)
        assert entry is not None
        assert entry.hashname == device.identity.hashname
        assert entry.sequence >= max(_acknowledged(device))
    await hub.close()
    kept: dict[bytes, set[int]] = {}
    for each in await spooled(settings):
        if each.kind == DEVICE:
            kept.setdefault(each.sender, set()).add(telemetry.decode(each.content).n)
    for device in devices:
        assert _acknowledged(device) <= kept[device.id]


def _acknowledged(device: FakeDevice) -> set[int]:
    waiting = {telemetry.decode(each.content).n for each in device.core.state.kept}
    return set(range(1, device.core.counters.made + 1)) - waiting


async def test_keys_and_place_in_the_spool_stay_the_same(
    settings: HubSettings, start: Start
) -> None:
    hub = await start(settings)
    name, place = hub.hashname, (settings.data / "spool.name").read_text()
    await hub.close()
    hub = await start(settings)
    assert hub.hashname == name
    assert (settings.data / "spool.name").read_text() == place
    assert os.stat(settings.data).st_mode & 0o077 == 0
