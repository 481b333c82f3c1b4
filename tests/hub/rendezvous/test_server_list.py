"""F9: a server that operators drain gets nobody new, from any hub of the database, in a second."""

import asyncio

from rookery.hub.hub import Hub
from rookery.store.hubs.drains import Drains
from rookery.wire.fleet import messages
from tests.hub.conftest import new_code
from tests.hub.device import FakeDevice
from tests.hub.identities import ANNAS, identity, mac
from tests.hub.server import Server
from tests.patience import PATIENCE_S


async def draining(hub: Hub) -> set[str]:
    return {each.hashname for each in await hub.servers() if each.is_draining}


async def until_draining(hub: Hub, *names: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await draining(hub) != set(names):  # noqa: ASYNC110 - another process may say so
            await asyncio.sleep(0.05)


async def test_an_empty_server_is_passed_over_while_it_is_drained(hub: Hub) -> None:
    names, drains = ("rook", "jay"), Drains(hub.database)
    servers = [Server(hub.link, identity(name), await new_code(hub, "server")) for name in names]
    async with FakeDevice(hub.link, identity("alice"), mac(1)) as device, servers[0], servers[1]:
        await servers[0].report(0)
        await servers[1].report(7)
        rook, jay = (each.identity.hashname for each in servers)

        async def preferred() -> str:
            await device.report()
            wish = await hub.wish(mac(1), "anna", ANNAS)
            await device.report()
            direct = await device.ask(await device.called())
            await hub.cancel(wish)
            assert isinstance(direct, messages.DirectMessage)
            return direct.server.hashname

        assert await preferred() == rook
        await drains.begin(rook, "olga", now=1.0)
        await until_draining(hub, rook)
        assert await preferred() == jay
        await drains.end(rook)
        await until_draining(hub)
        assert await preferred() == rook
