"""Senders that a fleet has no more to do with, and devices that nobody ever claimed."""

import asyncio
import time

import pytest

from rookery.fleet.entry import FleetEntry
from rookery.fleet.reports.report_sender import HelloRefused
from rookery.hub.clock import HubClock
from rookery.hub.hub import Hub
from rookery.hub.registry import entry_removal
from rookery.hub.registry.entry_removal import EntryRemoval
from rookery.hub.settings import HubSettings
from rookery.store.fleet.codes import EnrolmentCodes
from rookery.store.fleet.devices import Devices
from rookery.store.fleet.entries import Entries
from rookery.store.fleet.forgotten import ForgottenEntries
from rookery.wire.fleet.telemetry import DeviceReport
from tests.hub.conftest import Start, new_code
from tests.hub.device import FakeDevice, until
from tests.hub.identities import identity, mac
from tests.hub.server import Server
from tests.patience import PATIENCE_S

MONTH_S = 30 * 86_400.0


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_removal, "LOOK_S", 0.01)


async def known(hub: Hub, sender: bytes) -> FleetEntry:
    (entry,) = await hub.hot.entries([sender])
    assert entry is not None
    return entry


async def until_gone(hub: Hub, sender: bytes) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while (await hub.hot.entries([sender]))[0] is not None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def forget(hub: Hub, sender: bytes) -> None:
    entry = await known(hub, sender)
    await ForgottenEntries(hub.database).add(entry, now=time.time())


async def test_a_forgotten_device_is_nobodys_and_needs_another_code(
    settings: HubSettings, start: Start
) -> None:
    hub = await start(HubSettings(data=settings.data))
    code = await new_code(hub, "router")
    async with FakeDevice(hub.link, identity("alice"), mac(1), code) as device:
        await device.report()
        await forget(hub, mac(1))
        assert await Devices(hub.database).find(mac(1)) is None
        await until_gone(hub, mac(1))
        device.send(DeviceReport(t=1))  # with the code it had, which its key had used
        await until(lambda: HelloRefused("denied") in device.events)
        assert await hub.entry(mac(1)) is None
    code = await new_code(hub, "router")
    async with FakeDevice(hub.link, identity("alice"), mac(1), code) as device:
        await device.report()
    assert await hub.entry(mac(1)) is not None


async def test_a_forgotten_server_gets_nobody_and_stays_away(
    settings: HubSettings, start: Start
) -> None:
    hub = await start(settings)
    async with Server(hub.link, identity("north"), await new_code(hub, "server")) as server:
        await server.report()
        assert len(await hub.servers()) == 1
        await forget(hub, server.id)
        await until_gone(hub, server.id)
        assert await hub.servers() == []
        server.send(server.load())
        await until(lambda: HelloRefused("denied") in server.events)


async def test_what_was_forgotten_while_the_hub_was_away_does_not_come_back_with_it(
    settings: HubSettings, start: Start
) -> None:
    """From its snapshot, or its spool."""
    hub = await start(settings)
    async with FakeDevice(hub.link, identity("alice"), mac(1)) as device:
        await device.report()
    entry = await known(hub, mac(1))
    await hub.close()
    hub = await start(settings)
    gone = await ForgottenEntries(hub.database).add(entry, now=time.time())
    await hub.close()
    hub = await start(settings)
    assert await hub.entry(mac(1)) is None
    assert await Entries(hub.database).find([mac(1)]) == [None]
    assert gone.covers(entry)


async def test_a_report_that_was_on_its_way_brings_nothing_back(hub: Hub) -> None:
    async with FakeDevice(hub.link, identity("alice"), mac(1)) as device:
        await device.report()
    entry = await known(hub, mac(1))
    await ForgottenEntries(hub.database).add(entry, now=time.time())
    await until_gone(hub, mac(1))
    entry.version = 0
    assert await hub.hot.put([entry]) == [True]
    await Entries(hub.database).save_many([entry])
    await until_gone(hub, mac(1))
    async with asyncio.timeout(PATIENCE_S):
        while await Entries(hub.database).find([mac(1)]) != [None]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_the_codes_of_others_stay(hub: Hub) -> None:
    mine, others = [await new_code(hub, "router") for _ in range(2)]
    async with FakeDevice(hub.link, identity("alice"), mac(1), mine) as device:
        await device.report()
    async with FakeDevice(hub.link, identity("bob"), mac(2), others) as device:
        await device.report()
    await forget(hub, mac(1))
    left = await EnrolmentCodes(hub.database).of(None)
    assert [code.used_by for code in left] == [identity("bob").hashname]


class Wall:
    """A clock that is set by hand, in step with a monotonic one."""

    def __init__(self) -> None:
        self.now_s = 1e9

    def __call__(self) -> float:
        return self.now_s


async def test_devices_that_nobody_owns_expire_when_they_are_silent(hub: Hub) -> None:
    """H3: strangers would keep places and MACs for ever."""
    async with FakeDevice(hub.link, identity("stray"), mac(1)) as device:
        await device.report()
    async with FakeDevice(
        hub.link, identity("alice"), mac(2), await new_code(hub, "router")
    ) as device:
        await device.report()
    async with Server(hub.link, identity("north"), await new_code(hub, "server")) as server:
        await server.report()
        north = server.id
    async with FakeDevice(hub.link, identity("here"), mac(3)) as device:
        await device.report()
    entries = [await known(hub, each) for each in (mac(1), mac(2), north, mac(3))]
    await Entries(hub.database).save_many(entries)
    wall = Wall()
    wall.now_s = time.time() + MONTH_S + 60
    (await known(hub, mac(3))).last_seen = wall.now_s  # which the database does not know yet
    clock = HubClock(60.0, wall, wall)
    await EntryRemoval(hub.database, hub.hot, clock, MONTH_S).expire()
    left = await hub.hot.entries([mac(1), mac(2), north, mac(3)])
    assert [entry is not None for entry in left] == [False, True, True, True]
    (stray,) = await Entries(hub.database).find([mac(1)])
    assert stray is None
