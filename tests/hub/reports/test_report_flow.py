"""The way of reports when a store fails in the middle of it."""

import asyncio
import errno
import socket
from collections.abc import Sequence

import msgspec
import pytest

from rookery.errors import UnreachableError
from rookery.fleet.entry import FleetEntry
from rookery.hub.hub import Hub
from rookery.hub.settings import HubSettings, ReportLimits
from rookery.store.spool.segment import SegmentFile
from rookery.wire.fleet.telemetry import DeviceReport
from rookery.wire.observation import DEVICE
from tests.hub.conftest import Start
from tests.hub.device import FakeDevice, path, until
from tests.hub.identities import identity, mac
from tests.hub.reports.test_reports import spooled

MAC = mac(1)


def reasons(hub: Hub) -> str:
    lines = hub.metrics_text().decode().splitlines()
    return "\n".join(line for line in lines if line.startswith("rookery_undecided"))


async def test_a_disk_that_refuses_costs_no_report(
    hub: Hub, settings: HubSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not acknowledged, so it comes again, and is then no repeat of what nobody holds."""
    append, failures = SegmentFile.append, [1, 1]

    def fail(file: SegmentFile, data: bytes) -> None:
        if failures:
            failures.pop()
            raise OSError(errno.EIO, "broken")
        append(file, data)

    async with FakeDevice(hub.link, identity("alice"), MAC) as device:
        await device.report()
        monkeypatch.setattr(SegmentFile, "append", fail)
        for _ in range(3):
            await device.report()
        assert not failures
        assert 'reason="spool_failed"' in reasons(hub)
    await hub.close()
    kept = [each.sequence for each in await spooled(settings) if each.kind == DEVICE]
    assert sorted(set(kept)) == [1, 2, 3, 4]


async def test_of_reports_that_are_settled_together_one_may_be_what_the_disk_refused(
    hub: Hub, settings: HubSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow hot store has the second and third settled as one; only the third is on disk."""
    append, put, go_on, failures = SegmentFile.append, hub.hot.put, asyncio.Event(), [1]

    def fail(file: SegmentFile, data: bytes) -> None:
        if failures:
            failures.pop()
            raise OSError(errno.EIO, "broken")
        append(file, data)

    async def wait(entries: Sequence[FleetEntry]) -> list[bool]:
        await go_on.wait()
        return await put(entries)

    async with FakeDevice(hub.link, identity("alice"), MAC) as device:
        await device.report()
        monkeypatch.setattr(hub.hot, "put", wait)
        device.send(DeviceReport(t=1))
        await until(lambda: hub.report_counters.reports == 2)
        await hub._spool.durable(hub._flow._settling.position)
        monkeypatch.setattr(SegmentFile, "append", fail)
        device.send(DeviceReport(t=1))
        await until(lambda: hub.counts.failed_spool_writes == 1)
        device.send(DeviceReport(t=1))
        await until(lambda: hub.report_counters.reports == 4)
        go_on.set()
        await device.delivered()
    await hub.close()
    kept = {each.sequence for each in await spooled(settings) if each.kind == DEVICE}
    assert kept == {1, 2, 3, 4}


async def test_one_hub_alone_is_never_too_slow_for_itself(hub: Hub) -> None:
    async with FakeDevice(hub.link, identity("alice"), MAC) as device:
        for _ in range(300):
            device.send(DeviceReport(t=1))
        await device.delivered()
    assert "conflict" not in reasons(hub)


async def test_another_hub_that_was_faster_is_heard_as_well(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its report is in the entry in the end, and so is ours."""
    put, others = hub.hot.put, [1]

    async def race(entries: Sequence[FleetEntry]) -> list[bool]:
        if others:
            others.pop()
            (stored,) = await hub.hot.entries([MAC])
            assert stored is not None
            stored.strikes, stored.version = 77, stored.version + 1
        return await put(entries)

    async with FakeDevice(hub.link, identity("alice"), MAC) as device:
        await device.report()
        monkeypatch.setattr(hub.hot, "put", race)
        await device.report()
        assert not others
    entry = await hub.entry(MAC)
    assert entry is not None
    assert (entry.strikes, entry.sequence) == (77, 2)
    assert 'reason="conflict"' in reasons(hub)


async def test_a_hot_store_that_is_away_acknowledges_nothing_until_it_is_back(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(_: Sequence[FleetEntry]) -> list[bool]:
        raise UnreachableError("away")

    async with FakeDevice(hub.link, identity("alice"), MAC) as device:
        await device.report()
        with monkeypatch.context() as during:
            during.setattr(hub.hot, "put", away)
            for _ in range(5):
                device.send(DeviceReport(t=1))
            await until(lambda: 'reason="store_away"' in reasons(hub))
            assert device.core.counters.acknowledged == 1
        await device.delivered()
    entry = await hub.entry(MAC)
    assert entry is not None
    assert entry.window == (1 << 6) - 1


async def test_what_comes_too_fast_waits_in_the_socket(settings: HubSettings, start: Start) -> None:
    small = ReportLimits(waiting_max=64, batch_max=16)
    hub = await start(msgspec.structs.replace(settings, reports=small))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for _ in range(3000):
            stranger.sendto(bytes(60), path(hub.link, "udp").address)
    async with FakeDevice(hub.link, identity("alice"), MAC) as device:
        await device.report()


async def test_first_contacts_from_one_address_have_a_bound_and_do_not_disturb_who_is_known(
    hub: Hub,
) -> None:
    """F4"""
    async with FakeDevice(hub.link, identity("alice"), MAC) as device:
        await device.report()
        hello = device.sent[0]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for number in range(5000):
                forged = hello[:4] + mac(1000 + number) + hello[10:]
                stranger.sendto(forged, path(hub.link, "udp").address)
        await until(lambda: hub.report_counters.limited > 1000)
        await device.report()
    assert hub.report_counters.hellos < 200
    assert hub.report_counters.enrolled == 1
