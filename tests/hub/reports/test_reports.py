"""Reports through a whole hub: real sockets, real senders, a real disk."""

import asyncio
import os
import socket
import time

import msgspec
import pytest

from rookery.fleet.reports.report_sender import HelloRefused
from rookery.hub.hub import Hub
from rookery.hub.settings import HubSettings, SpoolLimits
from rookery.store.accounts.audit import AuditTrail
from rookery.store.fleet.devices import Devices
from rookery.store.hot.ram_store import RamHotStore
from rookery.store.spool.spool import Spool
from rookery.wire.fleet.telemetry import DeviceReport
from rookery.wire.observation import DEVICE, ENROLLED, Observation
from tests.hub.conftest import Start, new_code
from tests.hub.device import FakeDevice, path, until
from tests.hub.identities import identity, mac
from tests.hub.server import Server


async def spooled(settings: HubSettings) -> list[Observation]:
    """What a hub that is closed left for the lake."""
    spool = await Spool.open(settings.data / "spool")
    found = [Observation.parse(record.data) for record in spool.read()]
    await spool.close()
    return found


async def audited(hub: Hub) -> list[str]:
    await hub._audit_log.flush()
    return [row.what for row in await AuditTrail(hub.database).latest()]


async def test_a_device_enrols_by_itself_and_its_reports_are_acknowledged(hub: Hub) -> None:
    """F3, F4"""
    async with FakeDevice(hub.link, identity("alice"), mac(1)) as device:
        await device.report(7.0)
        entry = await hub.entry(mac(1))
        assert entry is not None
        assert entry.hashname == device.identity.hashname
        assert not hub.is_silent(entry)
        await device.report(8.0)
    assert device.core.counters.hellos == 1
    assert "router.enrolled" in await audited(hub)


async def test_what_is_acknowledged_is_on_disk_once(hub: Hub, settings: HubSettings) -> None:
    async with FakeDevice(hub.link, identity("alice"), mac(1)) as device:
        for uptime_s in range(5):
            await device.report(uptime_s)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as thief:
            for datagram in device.sent:  # all of it once more
                thief.sendto(datagram, path(hub.link, "udp").address)
        await until(lambda: hub.report_counters.repeats >= 5)
    await hub.close()
    observations = await spooled(settings)
    assert [each.kind for each in observations] == [ENROLLED] + [DEVICE] * 5
    assert [each.sequence for each in observations[1:]] == [1, 2, 3, 4, 5]


async def test_rubbish_is_counted_and_stops_nobody(hub: Hub) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for size in range(500):
            stranger.sendto(os.urandom(size), path(hub.link, "udp").address)
    async with FakeDevice(hub.link, identity("alice"), mac(1)) as device:
        await device.report()
    assert hub.report_counters.malformed > 0


async def test_a_forged_report_is_refused_counted_and_on_record(hub: Hub) -> None:
    """F4"""
    async with FakeDevice(hub.link, identity("alice"), mac(1)) as device:
        await device.report()
        await device.report()
        forged = bytearray(device.sent[-1])
        forged[-1] ^= 1
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as thief:
            thief.sendto(forged, path(hub.link, "udp").address)
        await until(lambda: hub.report_counters.forged == 1)
    assert "security.forged" in await audited(hub)


async def test_a_server_needs_a_code_and_a_code_works_once(hub: Hub) -> None:
    """F5"""
    code = await new_code(hub, "server")
    async with Server(hub.link, identity("idle"), code) as server:
        await server.report(3)
        (load,) = await hub.servers()
        assert (load.hashname, load.seats_used) == (server.identity.hashname, 3)
        async with Server(hub.link, identity("busy"), code) as second:
            second.send(DeviceReport(t=1))
            await until(lambda: HelloRefused("denied") in second.events)
    assert len(await hub.servers()) == 1


async def test_a_code_that_has_expired_lets_nobody_in(hub: Hub) -> None:
    code = await new_code(hub, "server", expires_at=time.time() - 1)
    async with Server(hub.link, identity("idle"), code) as server:
        server.send(DeviceReport(t=1))
        await until(lambda: HelloRefused("denied") in server.events)
    assert await hub.servers() == []


async def test_under_the_policy_claim_a_code_makes_a_device_its_owners(
    settings: HubSettings, start: Start
) -> None:
    """F4"""
    hub = await start(msgspec.structs.replace(settings, policy="claim"))
    async with FakeDevice(hub.link, identity("mallory"), mac(2)) as stranger:
        stranger.send(DeviceReport(t=1))
        await until(lambda: HelloRefused("denied") in stranger.events)
    code = await new_code(hub, "router")
    async with FakeDevice(hub.link, identity("alice"), mac(1), code) as device:
        await device.report()
    owned = await Devices(hub.database).find(mac(1))
    assert owned is not None
    assert await hub.entry(mac(2)) is None


async def test_an_owners_code_takes_an_id_from_who_was_first_to_use_it(
    settings: HubSettings, start: Start
) -> None:
    """H3: whoever enrolled a MAC first kept it for ever."""
    hub = await start(settings)
    async with FakeDevice(hub.link, identity("mallory"), mac(1)) as squatter:
        await squatter.report()
        code = await new_code(hub, "router")
        async with FakeDevice(hub.link, identity("alice"), mac(1), code) as device:
            await device.report()
            entry = await hub.entry(mac(1))
            assert entry is not None
            assert entry.hashname == identity("alice").hashname
            assert await Devices(hub.database).find(mac(1)) is not None
            squatter.send(DeviceReport(t=1))
            await until(lambda: HelloRefused("denied") in squatter.events)
            await device.report()
            entry = await hub.entry(mac(1))
            assert entry is not None
            assert entry.hashname == identity("alice").hashname
    assert "security.rebound" in await audited(hub)


async def test_who_reports_all_the_time_does_not_keep_an_owners_device_out(
    settings: HubSettings, start: Start
) -> None:
    hub = await start(settings)
    async with FakeDevice(hub.link, identity("mallory"), mac(1)) as squatter:
        await squatter.report()

        async def flood() -> None:
            while True:
                squatter.send(DeviceReport(t=1))
                await asyncio.sleep(0)

        flooding = asyncio.get_running_loop().create_task(flood())
        try:
            code = await new_code(hub, "router")
            async with FakeDevice(hub.link, identity("alice"), mac(1), code) as device:
                await device.report()
        finally:
            flooding.cancel()
            await asyncio.gather(flooding, return_exceptions=True)
    entry = await hub.entry(mac(1))
    assert entry is not None
    assert entry.hashname == identity("alice").hashname


async def test_a_code_takes_no_device_from_its_owner(settings: HubSettings, start: Start) -> None:
    hub = await start(settings)
    async with FakeDevice(
        hub.link, identity("alice"), mac(1), await new_code(hub, "router")
    ) as device:
        await device.report()
    code = await new_code(hub, "router")  # of another account
    async with FakeDevice(hub.link, identity("mallory"), mac(1), code) as thief:
        thief.send(DeviceReport(t=1))
        await until(lambda: HelloRefused("denied") in thief.events)
    entry = await hub.entry(mac(1))
    assert entry is not None
    assert entry.hashname == identity("alice").hashname


async def test_a_code_of_no_owner_takes_no_id_from_another_key(
    settings: HubSettings, start: Start
) -> None:
    """Then nobody would answer for it."""
    hub = await start(settings)
    async with FakeDevice(hub.link, identity("alice"), mac(1)) as device:
        await device.report()
    code = await new_code(hub, "router", is_owned=False)
    async with FakeDevice(hub.link, identity("mallory"), mac(1), code) as thief:
        thief.send(DeviceReport(t=1))
        await until(lambda: HelloRefused("denied") in thief.events)


async def test_an_owner_gives_new_keys_to_a_device_that_lost_its_own(
    settings: HubSettings, start: Start
) -> None:
    hub = await start(settings)
    code = await new_code(hub, "router")
    async with FakeDevice(hub.link, identity("alice"), mac(1), code) as device:
        await device.report()
    owned = await Devices(hub.database).find(mac(1))
    assert owned is not None
    code = await new_code(hub, "router", owner=owned.owner)
    async with FakeDevice(hub.link, identity("anew"), mac(1), code) as device:
        await device.report()
    entry = await hub.entry(mac(1))
    assert entry is not None
    assert entry.hashname == identity("anew").hashname
    assert await Devices(hub.database).find(mac(1)) == owned


async def test_who_is_known_goes_on_when_only_codes_let_others_in(
    settings: HubSettings, start: Start
) -> None:
    """H3: an older hub was open unless told otherwise, and is now closed."""
    hub = await start(settings)
    async with FakeDevice(hub.link, identity("alice"), mac(1)) as device:
        await device.report()
    await hub.close()
    hub = await start(HubSettings(data=settings.data))
    async with FakeDevice(hub.link, identity("alice"), mac(1)) as device:
        await device.report()
    async with FakeDevice(hub.link, identity("mallory"), mac(2)) as stranger:
        stranger.send(DeviceReport(t=1))
        await until(lambda: HelloRefused("denied") in stranger.events)


async def test_a_full_registry_is_busy_and_writes_nothing(hub: Hub, settings: HubSettings) -> None:
    """H3: what strangers sent was decided and spooled again and again, while nobody sent."""
    assert isinstance(hub.hot, RamHotStore)
    hub.hot._entries_max = 1
    async with FakeDevice(hub.link, identity("alice"), mac(1)) as device:
        await device.report()
        async with FakeDevice(hub.link, identity("mallory"), mac(2)) as stranger:
            stranger.send(DeviceReport(t=1))
            await until(lambda: hub.report_counters.busy > 0)
            await device.report()
        assert hub.report_counters.enrolled == 1
    assert "conflict" not in hub.metrics_text().decode()
    await hub.close()
    assert {each.sender for each in await spooled(settings)} == {mac(1)}


async def test_the_last_place_of_a_registry_goes_to_one(hub: Hub, settings: HubSettings) -> None:
    """H3: also of those who come at once."""
    assert isinstance(hub.hot, RamHotStore)
    hub.hot._entries_max = 1
    async with (
        FakeDevice(hub.link, identity("alice"), mac(1)) as first,
        FakeDevice(hub.link, identity("mallory"), mac(2)) as second,
    ):
        for device in (first, second):
            device.send(DeviceReport(t=1))
        await until(lambda: hub.report_counters.busy > 0 and hub.report_counters.reports > 0)
    await hub.close()
    assert len({each.sender for each in await spooled(settings)}) == 1


async def test_the_claim_code_that_the_agent_shows_is_known(hub: Hub) -> None:
    async with FakeDevice(hub.link, identity("alice"), mac(1)) as device:
        await device.report()
        entry = await hub.entry(mac(1))
        assert entry is not None
        shown = device.core.claim_code
    assert shown is not None
    assert hub.is_claimed(entry, shown.lower())
    assert not hub.is_claimed(entry, "ABCDEFGHIJ")


async def test_a_full_spool_takes_nothing_and_loses_nothing(
    settings: HubSettings, start: Start
) -> None:
    small = msgspec.structs.replace(settings, spool=SpoolLimits(bytes_max=1500))
    hub = await start(small)
    async with FakeDevice(hub.link, identity("alice"), mac(1)) as device:
        await device.report()
        for _ in range(29):
            device.send(DeviceReport(t=1))
        await until(lambda: "spool_full" in hub.metrics_text().decode())
        acknowledged = device.core.counters.acknowledged
        assert 0 < acknowledged < 30
        await hub.close()
        state = device.core.state
    assert len(state.kept) == 30 - device.core.counters.acknowledged
    hub = await start(settings)
    async with FakeDevice(hub.link, identity("alice"), mac(1), state=state) as device:
        await until(lambda: not device.core.state.kept)
    await hub.close()
    contents = {each.content for each in await spooled(settings) if each.kind == DEVICE}
    assert len(contents) == 30  # each is told apart by its boot and sequence


async def test_ten_devices_at_once_are_all_heard(hub: Hub) -> None:
    async with asyncio.TaskGroup() as tasks:
        for number in range(10):
            tasks.create_task(_visit(hub, number))
    assert hub.report_counters.reports == 50


async def _visit(hub: Hub, number: int) -> None:
    async with FakeDevice(hub.link, identity(f"router {number % 3}"), mac(number)) as device:
        for _ in range(5):
            await device.report()


async def test_metrics_tell_of_reports_and_of_who_is_there(hub: Hub) -> None:
    async with FakeDevice(hub.link, identity("alice"), mac(1)) as device:
        await device.report()
    await hub._fleet_counts.take()
    text = hub.metrics_text().decode()
    assert 'rookery_report_datagrams_total{fate="reports"} 1.0' in text
    assert 'rookery_reporters{kind="router",state="present"} 1.0' in text


@pytest.mark.parametrize("size", [1, 3, 47, 1500])
async def test_a_flood_of_one_size_leaves_the_hub_ready(hub: Hub, size: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for _ in range(2000):
            stranger.sendto(bytes(size), path(hub.link, "udp").address)
    assert await hub.is_ready()
    async with FakeDevice(hub.link, identity("alice"), mac(1)) as device:
        await device.report()
