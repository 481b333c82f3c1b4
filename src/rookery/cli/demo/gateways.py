"""Gateways: mesh nodes with an agent beside each; nobody can dial them but through the weather."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from rookery.cli.demo.devices import Device
from rookery.cli.demo.members import Members
from rookery.cli.demo.ports import HOST
from rookery.cli.demo.site_plan import GATEWAYS, Place
from rookery.cli.demo.weathers import Weathers
from rookery.cli.observing import observe_node
from rookery.errors import RookeryError
from rookery.runtime.advice import SWITCH, AdviceSettings, follow_advice
from rookery.runtime.control import FILE_NAME, Control
from rookery.runtime.control_streams import StreamKeeper
from rookery.runtime.node import MeshNode, mesh_node
from rookery.runtime.node_doors import NodeDoors
from rookery.runtime.node_view import NodeView
from rookery.runtime.outbox.queues import Queues
from rookery.wire.path import net_path
from rookery.wire.uri import LinkAddress

TALK_S = 5.0  # between two words to each of the others, so that links have something to carry
_WORDS = b"readings of this site " * 16


class Gateway:
    """A node, its agent and what watches them; `opened` whenever it has power."""

    def __init__(
        self, place: Place, folder: Path, port: int, members: Members, weathers: Weathers
    ) -> None:
        self.place = place
        self.folder = folder
        self.device: Device | None = None  # once there is a hub to report to
        self._port = port
        self._members = members
        self._weathers = weathers
        self._identity = members.identities[place.name]
        self._advice: Path | None = None

    def follow(self, advice: Path) -> None:
        """Whatever the lake exports there."""
        self._advice = advice

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[MeshNode]:
        name = self.place.name
        async with AsyncExitStack() as stack:
            node = await stack.enter_async_context(
                mesh_node(
                    self._identity,
                    self._members.stores[name],
                    listen=f"{HOST}:{self._port}",
                    peers=self._peers(),
                    advertise=None,
                    outbox_path=self.folder / "outbox.sqlite",
                )
            )
            await self._watched(stack, node)
            talking = await stack.enter_async_context(asyncio.TaskGroup())
            stack.callback(talking.create_task(self._talk(node)).cancel)
            if self.device is not None:
                await stack.enter_async_context(self.device.opened())
            yield node

    def _peers(self) -> list[LinkAddress]:
        found = []
        for name, place in self._weathers.leading_from(self.place.name).items():
            identity = self._members.identities[name]
            path = net_path("tcp", *place)
            found.append(LinkAddress(identity.hashname, dict(identity.keys), (path,)))
        return found

    async def _watched(self, stack: AsyncExitStack, node: MeshNode) -> None:
        """By the control socket and for the lake; it takes the lake's advice in turn."""
        view = NodeView(node)
        queues = Queues(lambda: node.outbox, view.who)
        streams = StreamKeeper(node.open, node.way_figures)
        control = await Control.bind(
            view, self.folder / FILE_NAME, NodeDoors(node), streams, queues
        )
        stack.push_async_callback(control.close)
        await stack.enter_async_context(observe_node(node, view, self.folder))
        if self._advice is not None:
            advisor = self._members.forecaster.hashname
            switch = node.store.folder / SWITCH
            settings = AdviceSettings(
                switch=switch, advisors=frozenset({advisor}), file=self._advice
            )
            await stack.enter_async_context(follow_advice(node, settings))

    async def _talk(self, node: MeshNode) -> None:
        """A word to everybody, now and then; whether it arrives is not asked."""
        others = [
            self._members.hashname(place.name) for place in GATEWAYS if place is not self.place
        ]
        while True:
            for hashname in others:
                with suppress(RookeryError):  # it is not known yet, or just not there
                    node.link(hashname)
                    node.send_datagram(hashname, _WORDS)
                await asyncio.sleep(TALK_S / len(others))
