"""Two hubs on one database and one Redis behave as one; and a Redis that goes away comes back."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from rookery.fleet.rendezvous.rendezvous import RendezvousLimits
from rookery.hub.errors import StoreUnavailableError
from rookery.hub.hub import Hub
from rookery.hub.settings import HubSettings
from rookery.runtime.endpoint import keystore
from rookery.wire.fleet import messages
from rookery.wire.fleet.telemetry import DeviceReport
from tests.hub.conftest import Start, new_code
from tests.hub.device import FakeDevice, path, until
from tests.hub.identities import ANNAS, identity, mac
from tests.hub.server import Server
from tests.patience import PATIENCE_S
from tests.store.servers import RedisServer

pytestmark = pytest.mark.xdist_group("databases")

MAC = mac(1)


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
async def hubs(
    tmp_path: Path, settings: HubSettings, start: Start, redis: RedisServer
) -> tuple[Hub, Hub]:
    """With the same keys and stores, and a spool each."""
    redis.clear()
    patient = RendezvousLimits(reserve_s=3 * PATIENCE_S)
    first = msgspec.structs.replace(
        settings, hot=redis.url, database=settings.database_url, rendezvous=patient
    )
    second = msgspec.structs.replace(first, data=tmp_path / "second")
    keystore.save(second.data, identity("hub"))
    return await start(first), await start(second)


async def test_a_device_that_one_hub_enrolled_is_known_to_the_other(hubs: tuple[Hub, Hub]) -> None:
    here, there = hubs
    async with FakeDevice(here.link, identity("alice"), MAC) as device:
        await device.report()
        state = device.core.state
    async with FakeDevice(there.link, identity("alice"), MAC, state=state) as device:
        await device.report()
        assert device.core.counters.hellos == 0
    entries = [await hub.entry(MAC) for hub in hubs]
    assert entries[0] == entries[1]


async def test_reports_to_both_hubs_at_once_are_all_taken(hubs: tuple[Hub, Hub]) -> None:
    """A datagram may come twice, by two hubs; the entry is never older than what it knew."""
    here, there = hubs
    async with FakeDevice(here.link, identity("alice"), MAC) as device:
        await device.report()
        to = path(there.link, "udp")
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(
            asyncio.DatagramProtocol, remote_addr=to.address
        )
        for _ in range(50):
            before = len(device.sent)
            device.send(DeviceReport(t=1))
            for datagram in device.sent[before:]:
                transport.sendto(datagram)
        await device.delivered()
        transport.close()
    entry = await here.entry(MAC)
    assert entry is not None
    assert entry.sequence == 51
    assert entry.window & ((1 << 51) - 1) == (1 << 51) - 1


async def test_one_hub_has_the_client_and_the_other_the_device(hubs: tuple[Hub, Hub]) -> None:
    """F7, F9, F10"""
    here, there = hubs
    server = Server(here.link, identity("idle"), await new_code(here, "server"))
    async with server, FakeDevice(there.link, identity("alice"), MAC) as device:
        await server.report()
        await device.report()
        wish = await here.wish(MAC, "anna", ANNAS)
        await device.report()
        direct = await device.ask(await device.called())
        assert isinstance(direct, messages.DirectMessage)
        await device.arrive(direct)
        async with asyncio.timeout(PATIENCE_S):
            steps = [step async for step in here.steps(wish)]
    assert [step.name for step in steps] == [
        "wished", "called", "router_here", "reserving", "directed", "arrived", "done"
    ]  # fmt: skip
    assert len(server.reserved) == 1


async def test_what_one_hub_cancels_the_other_ends(hubs: tuple[Hub, Hub]) -> None:
    here, there = hubs
    server = Server(here.link, identity("idle"), await new_code(here, "server"), "silent")
    async with server, FakeDevice(there.link, identity("alice"), MAC) as device:
        await server.report()
        await device.report()
        wish = await here.wish(MAC, "anna", ANNAS)
        await device.report()
        lease_client = asyncio.get_running_loop().create_task(device.ask(await device.called()))
        await until(lambda: bool(server.reserved))
        await here.cancel(wish)
        fault = await lease_client
        assert isinstance(fault, messages.FaultMessage)
        await until(lambda: server.released == set(server.reserved))


async def test_while_redis_is_away_nothing_is_acknowledged_and_then_everything_is(
    hubs: tuple[Hub, Hub], redis: RedisServer
) -> None:
    here, _ = hubs
    async with FakeDevice(here.link, identity("alice"), MAC) as device:
        await device.report()
        redis.kill()
        device.send(DeviceReport(t=1))
        await until(lambda: here.counts.undecided_reports.get("store_away", 0) > 0)
        with pytest.raises(StoreUnavailableError):
            await here.wish(MAC, "anna", ANNAS)
        assert not await here.is_ready()
        assert device.core.counters.acknowledged == 1
        redis.start()
        await device.delivered()
        assert await here.is_ready()
        assert await here.entry(MAC) is not None
