"""A mesh for a hub: real nodes on loopback, the first one with its control socket.

Berlin and Rome do not know where the other listens, so Oslo stands between them.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from rookery.runtime.control.server import FILE_NAME, ControlServer
from rookery.runtime.node.node import MeshNode, mesh_node
from rookery.runtime.node.view import NodeView
from rookery.runtime.outbox.queue_view import QueueView
from rookery.wire.link.path import NetPath
from tests.patience import PATIENCE_S
from tests.runtime.realms import Home, realm
from tests.web.world import SETTINGS, World, world

NOWHERE = NetPath("tcp4", "127.0.0.1", 9)
NAMES = ("berlin-gw1", "oslo", "rome.gw1")


class MeshWorld(NamedTuple):
    """The hub's world, and the mesh that it reads through `view`."""

    hub: World
    homes: list[Home]
    nodes: list[MeshNode]
    view: NodeView
    control: ControlServer
    path: Path


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 (a condition over several nodes)
            await asyncio.sleep(0.02)


async def eventually(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await condition():  # noqa: ASYNC110 (what others answer)
            await asyncio.sleep(0.1)


@asynccontextmanager
async def mesh_world(folder: Path, template: Path) -> AsyncIterator[MeshWorld]:
    """Once the hub's mesh node has routes to both others."""
    homes = realm(folder, *NAMES)
    async with AsyncExitStack() as stack:

        async def start(home: Home, *peers: MeshNode) -> MeshNode:
            running = mesh_node(
                home.identity,
                home.store,
                peers=[peer.endpoint.address for peer in peers],
                advertise=[NOWHERE] if peers else [],
            )
            return await stack.enter_async_context(running)

        oslo = await start(homes[1])
        berlin, rome = await start(homes[0], oslo), await start(homes[2], oslo)
        view = NodeView(berlin)
        path = folder / FILE_NAME
        queues = QueueView(lambda: berlin.outbox, view.name_of)
        control = await ControlServer.bind(view, path, queues=queues)
        stack.push_async_callback(control.close)
        settings = msgspec.structs.replace(SETTINGS, node=path)
        hub = await stack.enter_async_context(world(folder, template, settings))
        await until(lambda: view.status().routes == 2)
        yield MeshWorld(hub, homes, [berlin, oslo, rome], view, control, path)
