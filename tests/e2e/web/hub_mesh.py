"""A mesh beside a hub that browsers look at: real nodes on loopback, in a loop of their own.

laptop ── berlin-gw2 ── berlin-gw1, oslo-gw1         berlin-gw1, which has the control socket,
oslo-n2 ── oslo-gw1 ── lisbon-gw1 ── lisbon-n2       oslo-gw1 and rome-gw1 are all linked, and
rome-n2 ── rome-gw1 ── lisbon-gw1                    nobody with whom it is not told to
"""

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rookery.runtime.control.server import FILE_NAME, ControlServer
from rookery.runtime.node.node import MeshNode, mesh_node
from rookery.runtime.node.view import NodeView
from rookery.wire.link.path import NetPath
from tests.patience import PATIENCE_S
from tests.runtime.realms import Home, realm

NOWHERE = NetPath("tcp4", "127.0.0.1", 9)
LINKS: Mapping[str, tuple[str, ...]] = {
    "berlin-gw1": (),
    "oslo-gw1": ("berlin-gw1",),
    "rome-gw1": ("berlin-gw1", "oslo-gw1"),
    "lisbon-gw1": ("oslo-gw1", "rome-gw1"),
    "berlin-gw2": ("berlin-gw1", "oslo-gw1"),
    "oslo-n2": ("oslo-gw1",),
    "rome-n2": ("rome-gw1",),
    "lisbon-n2": ("lisbon-gw1",),
    "laptop": ("berlin-gw2",),
}


class HubMesh:
    """Its homes by name; nodes end one by one, or all at the end."""

    def __init__(self, folder: Path, links: Mapping[str, tuple[str, ...]]) -> None:
        self.homes: dict[str, Home] = {home.name: home for home in realm(folder, *links)}
        self.control = folder / FILE_NAME
        self._links = links
        self._loop = asyncio.new_event_loop()
        self._ends = {name: asyncio.Event() for name in links}
        self._nodes: dict[str, MeshNode] = {}
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),))

    def hashname(self, name: str) -> str:
        return self.homes[name].hashname

    def end(self, name: str) -> None:
        """Have a node leave, as when its machine is switched off in order."""
        self._loop.call_soon_threadsafe(self._ends[name].set)

    def open(self) -> None:
        self._thread.start()
        assert self._ready.wait(PATIENCE_S)

    def close(self) -> None:
        for name in self._ends:
            self.end(name)
        self._thread.join(PATIENCE_S)
        self._loop.close()

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for name in self._links:
                is_up = asyncio.Event()
                tasks.create_task(self._node(name, is_up))
                await is_up.wait()
            first = self._nodes[next(iter(self._links))]
            view = NodeView(first)
            control = await ControlServer.bind(view, self.control)
            async with asyncio.timeout(PATIENCE_S):
                while view.status().routes < len(self._links) - 1:  # noqa: ASYNC110 (of many)
                    await asyncio.sleep(0.05)
            self._ready.set()
            await self._ends[next(iter(self._links))].wait()
            await control.close()

    async def _node(self, name: str, is_up: asyncio.Event) -> None:
        home, near = self.homes[name], self._links[name]
        peers = [self._nodes[peer].endpoint.address for peer in near]
        async with mesh_node(
            home.identity, home.store, peers=peers, advertise=[NOWHERE]
        ) as self._nodes[name]:
            is_up.set()
            await self._ends[name].wait()


@contextmanager
def hub_mesh(folder: Path, links: Mapping[str, tuple[str, ...]] = LINKS) -> Iterator[HubMesh]:
    """Once the first node finds all others."""
    mesh = HubMesh(folder, links)
    mesh.open()
    try:
        yield mesh
    finally:
        mesh.close()
