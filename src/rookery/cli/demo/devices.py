"""Devices of the demo: each has an agent that reports with real packets; its owner claims it.

Most are mesh nodes, too. Those reach each other only through the emulated links of `weather.py`."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from rookery.agent.agent import Agent, AgentSettings
from rookery.agent.methods.config import AgentConfig
from rookery.cli.demo.members import DemoMembers
from rookery.cli.demo.ports import HOST
from rookery.cli.demo.site_plan import NODES, PlannedDevice, mac
from rookery.cli.demo.weather import DemoWeather
from rookery.cli.observers import observe_node
from rookery.client.api import HubApi
from rookery.errors import RookeryError
from rookery.fleet.reports.report_sender import SecretRenewed, SenderEnrolled, SenderEvent
from rookery.identity.identity import Identity
from rookery.runtime.control.server import FILE_NAME, ControlServer
from rookery.runtime.control.streams import StreamOpener
from rookery.runtime.fleet.hub_address import HubAddress
from rookery.runtime.node.advice import SWITCH, AdviceSettings, follow_advice
from rookery.runtime.node.listeners import NodeListeners
from rookery.runtime.node.node import MeshNode, mesh_node
from rookery.runtime.node.view import NodeView
from rookery.runtime.outbox.queue_view import QueueView
from rookery.wire.link.path import net_path
from rookery.wire.link.uri import LinkAddress

INTERVAL_S = 5.0


class DemoDevice:
    """The agent of one device; `opened` runs it while the device has power."""

    def __init__(
        self,
        planned: PlannedDevice,
        folder: Path,
        identity: Identity,
        hub: HubAddress,
        node: Path | None = None,
    ) -> None:
        self.planned = planned
        self._settings = AgentSettings(
            identity=identity,
            hub=hub,
            mac=mac(planned),
            config=AgentConfig(interval_s=INTERVAL_S),
            config_folder=folder,
            keep=folder,
            node=node,
        )
        self._code: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Agent]:
        async with await Agent.start(self._settings, self._on_report_event) as agent:
            yield agent

    async def claim(self, api: HubApi) -> None:
        """Make it the caller's, once the hub knows it."""
        await api.claim(mac(self.planned), await self._code, self.planned.name)

    def _on_report_event(self, event: SenderEvent) -> None:
        match event:
            case SenderEnrolled(code) | SecretRenewed(code) if not self._code.done():
                self._code.set_result(code)
            case _:
                pass


TALK_S = 5.0  # between two datagrams to each of the others, so that links have something to carry
_WORDS = b"readings of this site " * 16


class DemoNode:
    """A device's mesh node, its agent and its observers; `opened` runs them while it has power."""

    def __init__(
        self,
        planned: PlannedDevice,
        folder: Path,
        port: int,
        members: DemoMembers,
        weather: DemoWeather,
    ) -> None:
        self.planned = planned
        self.folder = folder
        self.device: DemoDevice | None = None  # once there is a hub to report to
        self._port = port
        self._members = members
        self._weather = weather
        self._identity = members.identities[planned.name]
        self._advice: Path | None = None

    def follow(self, advice: Path) -> None:
        """Follow the advice that the lake exports to this file."""
        self._advice = advice

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[MeshNode]:
        name = self.planned.name
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
        for name, address in self._weather.leading_from(self.planned.name).items():
            identity = self._members.identities[name]
            path = net_path("tcp", *address)
            found.append(LinkAddress(identity.hashname, dict(identity.keys), (path,)))
        return found

    async def _watched(self, stack: AsyncExitStack, node: MeshNode) -> None:
        """Open its control socket, observe it for the lake, and follow the lake's advice."""
        view = NodeView(node)
        queues = QueueView(lambda: node.outbox, view.name_of)
        streams = StreamOpener(node.open, node.path_figures)
        control = await ControlServer.bind(
            view, self.folder / FILE_NAME, NodeListeners(node), streams, queues
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
        """Send every other node a datagram now and then; delivery is not checked."""
        others = [
            self._members.hashname(planned.name) for planned in NODES if planned is not self.planned
        ]
        while True:
            for hashname in others:
                with suppress(RookeryError):  # it is not known yet, or just not there
                    node.link(hashname)
                    node.send_datagram(hashname, _WORDS)
                await asyncio.sleep(TALK_S / len(others))
