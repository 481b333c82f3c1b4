"""Wishes from beginning to end: a hub, devices and servers on real sockets."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import msgspec
import pytest

from rookery.fleet.entry import server_id
from rookery.fleet.rendezvous.rendezvous import RendezvousLimits
from rookery.fleet.rendezvous.wish import Wish, WishStep
from rookery.hub.errors import SilentDeviceError, UnknownDeviceError
from rookery.hub.hub import Hub
from rookery.hub.settings import HubListenerLimits, HubSettings
from rookery.store.spool.reader import SpoolReader
from rookery.wire import observation_content
from rookery.wire.fleet import messages
from rookery.wire.fleet.mac import mac_text
from rookery.wire.fleet.messages import FaultCode
from rookery.wire.fleet.telemetry import SessionReport
from rookery.wire.observation import SESSION, Observation
from tests.hub.conftest import Start, new_code
from tests.hub.device import FakeDevice, path, until
from tests.hub.identities import ANNAS, identity, mac
from tests.hub.server import Manner, Server
from tests.patience import PATIENCE_S

MAC = mac(1)


class World:
    """A hub with one device, and as many servers as a test adds."""

    def __init__(self, hub: Hub, device: FakeDevice, stack: AsyncExitStack) -> None:
        self.hub = hub
        self.device = device
        self._stack = stack

    async def server(self, name: str, manner: Manner = "kind", seats_used: int = 0) -> Server:
        code = await new_code(self.hub, "server")
        server = Server(self.hub.link, identity(name), code, manner)
        await self._stack.enter_async_context(server)
        await server.report(seats_used)
        return server

    async def called(self) -> tuple[Wish, int]:
        """A wish of which the device has heard."""
        wish = await self.hub.wish(MAC, "anna", ANNAS)
        await self.device.report()
        return wish, await self.device.called()

    async def steps(self, wish: Wish) -> list[WishStep]:
        async with asyncio.timeout(PATIENCE_S):
            return [step async for step in self.hub.steps(wish)]


@pytest.fixture
async def world(settings: HubSettings, start: Start) -> AsyncIterator[World]:
    quick = RendezvousLimits(
        report_s=5.0, connect_s=5.0, reserve_s=0.5, arrive_s=1.0, return_s=1.0, seat_s=60
    )
    hub = await start(msgspec.structs.replace(settings, rendezvous=quick))
    async with AsyncExitStack() as stack:
        device = await stack.enter_async_context(FakeDevice(hub.link, identity("alice"), MAC))
        await device.report()
        yield World(hub, device, stack)


def names(steps: list[WishStep]) -> list[str]:
    return [step.name for step in steps]


async def test_a_client_gets_its_device_at_the_least_loaded_server(world: World) -> None:
    """F7, F8, F9, F10"""
    busy = await world.server("busy", seats_used=6)
    idle = await world.server("idle")
    wish, heard = await world.called()
    assert heard == wish.id
    direct = await world.device.ask(heard)
    assert isinstance(direct, messages.DirectMessage)
    assert direct.server.hashname == idle.identity.hashname
    welcome = await world.device.arrive(direct)
    assert isinstance(welcome, messages.WelcomeMessage)
    steps = await world.steps(wish)
    assert names(steps) == [
        "wished", "called", "router_here", "reserving", "directed", "arrived", "done"
    ]  # fmt: skip
    grant = steps[-1].grant
    assert grant is not None
    assert (grant.server, grant.seat) == (idle.identity.hashname, direct.seat)
    assert grant.ticket != direct.ticket
    assert not busy.reserved
    assert await world.hub.hot.wish(wish.id) is None


@pytest.mark.parametrize("stream", [0, 0x40])
async def test_all_who_meet_at_a_server_use_the_cipher_set_that_it_names(
    world: World, stream: int
) -> None:
    server = await world.server("one")
    server.stream = stream
    await server.report()
    wish, heard = await world.called()
    direct = await world.device.ask(heard)
    assert isinstance(direct, messages.DirectMessage)
    key40 = server.identity.keys[0x40] if stream else b""
    assert direct.server.key40 == key40
    assert isinstance(await world.device.arrive(direct), messages.WelcomeMessage)
    grant = (await world.steps(wish))[-1].grant
    assert grant is not None
    assert grant.key40 == key40
    assert set(server.csids) == {stream or 0x2A}


async def test_a_device_that_says_it_takes_cipher_set_40_is_answered_in_no_other(
    world: World,
) -> None:
    """Else who has its RSA key alone would be told its tickets."""
    await world.server("one")
    world.device.stream = 0x40
    _, heard = await world.called()
    fault = await world.device.ask(heard, 0x2A)
    assert isinstance(fault, messages.FaultMessage)
    assert fault.code == FaultCode.DENIED
    assert isinstance(await world.device.ask(heard), messages.DirectMessage)


async def test_a_repeat_calls_the_device_as_well(world: World) -> None:
    """F7: the acknowledgement was lost, and the wish came in between."""
    wish = await world.hub.wish(MAC, "anna", ANNAS)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as again:
        again.sendto(world.device.sent[-1], path(world.hub.link, "udp").address)
    async with asyncio.timeout(PATIENCE_S):
        async for step in world.hub.steps(wish):
            if step.name == "called":
                return
    pytest.fail("it was not called")


async def test_a_server_that_has_no_seat_is_followed_by_the_next(world: World) -> None:
    """F9"""
    full = await world.server("idle", "refuses")
    other = await world.server("busy", seats_used=6)
    wish, heard = await world.called()
    direct = await world.device.ask(heard)
    assert isinstance(direct, messages.DirectMessage)
    assert direct.server.hashname == other.identity.hashname
    assert len(full.reserved) == 1
    await world.device.arrive(direct)
    steps = await world.steps(wish)
    assert names(steps).count("reserving") == 2
    assert steps[-1].name == "done"


@pytest.mark.parametrize("manner", ["silent", "hangs up"])
async def test_a_server_that_dies_before_it_answers_is_followed_by_the_next(
    world: World, manner: Manner
) -> None:
    await world.server("idle", manner)
    other = await world.server("busy", seats_used=6)
    _, heard = await world.called()
    direct = await world.device.ask(heard)
    assert isinstance(direct, messages.DirectMessage)
    assert direct.server.hashname == other.identity.hashname


async def test_a_device_whose_server_died_comes_back_and_is_sent_to_the_next(
    world: World,
) -> None:
    await world.server("idle")
    await world.server("busy", seats_used=6)
    wish, heard = await world.called()
    first, second = await world.device.ask(heard), await world.device.ask(heard)
    assert isinstance(first, messages.DirectMessage)
    assert isinstance(second, messages.DirectMessage)
    assert first.server.hashname != second.server.hashname
    await world.device.arrive(second)
    assert (await world.steps(wish))[-1].name == "done"


async def test_a_server_lost_after_the_device_was_sent_there_has_the_device_called_again(
    world: World,
) -> None:
    await world.server("idle", "hangs up later")
    other = await world.server("busy", seats_used=6)
    wish, heard = await world.called()
    assert isinstance(await world.device.ask(heard), messages.DirectMessage)
    await world.device.report()
    again = await world.device.called()
    direct = await world.device.ask(again)
    assert isinstance(direct, messages.DirectMessage)
    assert direct.server.hashname == other.identity.hashname
    await world.device.arrive(direct)
    assert (await world.steps(wish))[-1].name == "done"


async def test_without_a_server_the_client_is_told_so(world: World) -> None:
    """F6"""
    wish, heard = await world.called()
    fault = await world.device.ask(heard)
    assert isinstance(fault, messages.FaultMessage)
    assert fault.code == FaultCode.NO_WISH
    last = (await world.steps(wish))[-1]
    assert (last.name, last.reason) == ("failed", "no server")


async def test_unused_seats_are_given_back(world: World) -> None:
    server = await world.server("idle", "hangs up later")
    _, heard = await world.called()
    await world.device.ask(heard)
    (seat,) = server.reserved
    async with asyncio.timeout(PATIENCE_S):
        while await world.hub.hot.reserved(server.identity.hashname):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert server.reserved.keys() == {seat}


async def test_an_unknown_device_cannot_be_wished_for(world: World) -> None:
    """F6"""
    with pytest.raises(UnknownDeviceError):
        await world.hub.wish(mac(99), "anna", ANNAS)


async def test_a_silent_device_cannot_be_wished_for_and_its_last_report_is_told(
    world: World,
) -> None:
    """F6"""
    (entry,) = await world.hub.hot.entries([MAC])
    assert entry is not None
    entry.last_seen = time.time() - 3600.0
    await world.hub.hot.put([entry])
    with pytest.raises(SilentDeviceError) as caught:
        await world.hub.wish(MAC, "anna", ANNAS)
    assert caught.value.last_seen == entry.last_seen


async def test_a_device_cannot_take_what_is_meant_for_another(world: World) -> None:
    await world.server("idle")
    _, heard = await world.called()
    async with FakeDevice(world.hub.link, identity("mallory"), mac(2)) as mallory:
        fault = await mallory.ask(heard)
    assert isinstance(fault, messages.FaultMessage)
    assert fault.code == FaultCode.DENIED
    assert isinstance(await world.device.ask(heard), messages.DirectMessage)


async def test_a_device_that_nobody_wished_for_is_sent_away(world: World) -> None:
    fault = await world.device.ask(12345)
    assert isinstance(fault, messages.FaultMessage)
    assert fault.code == FaultCode.NO_WISH


async def test_a_cancelled_wish_is_over_for_the_device_as_well(world: World) -> None:
    wish, heard = await world.called()
    await world.hub.cancel(wish)
    assert (await world.steps(wish))[-1].reason == "cancelled"
    fault = await world.device.ask(heard)
    assert isinstance(fault, messages.FaultMessage)
    assert fault.code == FaultCode.NO_WISH


async def test_the_same_client_waits_with_one_wish(world: World) -> None:
    first = await world.hub.wish(MAC, "anna", ANNAS)
    assert await world.hub.wish(MAC, "anna", ANNAS) == first
    assert (await world.hub.wish(MAC, "boris", ANNAS)).id != first.id


async def test_a_device_that_does_not_come_is_given_up_in_time(
    settings: HubSettings, start: Start
) -> None:
    limits = RendezvousLimits(report_s=0.2, connect_s=0.2)
    hub = await start(msgspec.structs.replace(settings, rendezvous=limits))
    async with FakeDevice(hub.link, identity("alice"), MAC) as device:
        await device.report()
        wish = await hub.wish(MAC, "anna", ANNAS)
        async with asyncio.timeout(PATIENCE_S):
            steps = [step async for step in hub.steps(wish)]
    assert names(steps) == ["wished", "failed"]


async def test_p2_a_rendezvous_that_failed_is_observed(world: World, settings: HubSettings) -> None:
    """No server has ever reported, so nobody but the hub can tell of it."""
    wish, heard = await world.called()
    await world.device.ask(heard)
    steps = await world.steps(wish)
    assert steps[-1].name == "failed"

    def failures() -> list[Observation]:
        found = [Observation.parse(each.data) for each in SpoolReader(settings.data / "spool")]
        return [each for each in found if each.kind == SESSION]

    await until(lambda: len(failures()) == 1)
    [kept] = failures()
    report = observation_content.decode(kept.kind, kept.content)
    assert isinstance(report, SessionReport)
    assert (report.who, report.router, report.server, report.seat) == (
        "anna",
        mac_text(MAC),
        "",
        "",
    )
    assert report.reason == steps[-1].reason != ""
    assert report.opened_at <= report.closed_at == kept.received_ms
    assert (report.b, report.n) == (kept.boot, kept.sequence)
    assert kept.sender == server_id(world.hub.hashname)


async def test_a_device_that_was_called_gets_in_while_strangers_flood(
    settings: HubSettings, start: Start
) -> None:
    """They shared one budget, so that it had to win a race against them."""
    listener = HubListenerLimits(knocks_per_s=0.01, knocks_burst=3.0)
    hub = await start(msgspec.structs.replace(settings, listener=listener))
    code = await new_code(hub, "server")
    async with (
        FakeDevice(hub.link, identity("alice"), MAC) as device,
        Server(hub.link, identity("idle"), code) as server,
    ):
        await device.report()
        await server.report()
        await hub.wish(MAC, "anna", ANNAS)
        await device.report()
        heard = await device.called()
        where = path(hub.link, "tcp").address
        for _ in range(20):
            _, writer = await asyncio.open_connection(*where, local_addr=("127.0.0.2", 0))
            writer.close()
        await until(lambda: b'fate="busy"' in hub.metrics_text())
        assert isinstance(await device.ask(heard), messages.DirectMessage)
