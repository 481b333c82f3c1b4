"""The demo's world: composition root. Starts its parts in an order that keeps waits short."""

import asyncio
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from rookery.cli.crow.options import BROKER_PORT
from rookery.cli.demo import fleet_hub, members, ports, synthetic_data
from rookery.cli.demo.devices import DemoDevice, DemoNode
from rookery.cli.demo.fleet_hub import DemoServer, HubPlan, PreparedHub
from rookery.cli.demo.folder import DemoFolder
from rookery.cli.demo.incidents import (
    DemoIncident,
    IncidentControl,
    IncidentNotice,
    RelayDies,
    ServerDies,
    incident_socket,
)
from rookery.cli.demo.pipeline import DemoPipeline, Tell
from rookery.cli.demo.power_switch import PowerSwitch
from rookery.cli.demo.sensors import sensors
from rookery.cli.demo.site_plan import ACCESS_POINTS, NODES, RELAY, SERVERS
from rookery.cli.demo.tour import CLI, Tour
from rookery.cli.demo.weather import DemoWeather, demo_weather
from rookery.cli.fleet.hub_options import FLEET_PORT, HTTP_PORT
from rookery.cli.terminal.keyboard import Keyboard, pressed
from rookery.runtime.fleet.hub_address import HubAddress

KEY = "i"
_KEYS_S = 3600.0


@dataclass(frozen=True, kw_only=True)
class WorldCallbacks:
    """Callbacks of the world, for printing."""

    say: Callable[[str], None]
    tour: Callable[[Tour], None]
    incident: Callable[[IncidentNotice], None]
    lake: Tell


@dataclass(kw_only=True)
class DemoWorld:
    """One running demo; `live` ends when it is cancelled."""

    folder: DemoFolder
    scenario: str
    days: int
    every: str
    program: str
    callbacks: WorldCallbacks
    _members: members.DemoMembers = field(init=False)
    _prepared: PreparedHub = field(init=False)
    _powers: dict[str, PowerSwitch] = field(default_factory=dict)

    async def live(self) -> None:
        plan = await self._prepare()
        port = ports.wanted(BROKER_PORT, ["udp"], "crow broker", self.callbacks.say)
        node_ports = {planned.name: ports.free(["tcp", "udp"]) for planned in NODES}
        async with AsyncExitStack() as stack:
            weather = await stack.enter_async_context(demo_weather(node_ports))
            process, hub = await stack.enter_async_context(fleet_hub.hub(self.folder, plan))
            broker = await stack.enter_async_context(sensors(self.folder, port))
            tasks = await stack.enter_async_context(asyncio.TaskGroup())
            stack.callback(self._end)  # before the tasks are waited for
            tasks.create_task(process.failed())
            nodes, are_running = self._nodes(node_ports, weather), asyncio.Event()
            if self.days:
                tasks.create_task(self._pipeline(nodes).run(are_running))
            devices = self._feed(tasks, hub, nodes)
            await asyncio.gather(*(power.running() for power in self._powers.values()))
            control = IncidentControl(self._incident(weather), self.callbacks.incident)
            await stack.enter_async_context(incident_socket(control, self.folder.socket))
            await self._claim(plan, devices)
            self.callbacks.tour(self._tour(plan, broker))
            are_running.set()
            with pressed() as keyboard:
                await _listen(keyboard, control)

    async def _prepare(self) -> HubPlan:
        say = self.callbacks.say
        http = ports.wanted(HTTP_PORT, ["tcp"], "pages", say)
        fleet = ports.wanted(FLEET_PORT, ["tcp", "udp"], "hub", say)
        self._members, self._prepared = await asyncio.gather(
            members.make_members(self.folder), fleet_hub.prepare(self.folder)
        )
        if self.days:
            synthetic_data.write_roster(self.folder, self._members)
        forecaster = self._members.forecaster.hashname
        return HubPlan(http=http, fleet=fleet, forecaster=forecaster, has_lake=self.days > 0)

    def _nodes(self, node_ports: dict[str, int], weather: DemoWeather) -> list[DemoNode]:
        found = []
        for planned in NODES:
            folder = self.folder.member(planned.name)
            node = DemoNode(planned, folder, node_ports[planned.name], self._members, weather)
            if self.days:
                node.follow(self.folder.export / "advice.rka")
            found.append(node)
        return found

    def _feed(
        self, tasks: asyncio.TaskGroup, hub: HubAddress, nodes: list[DemoNode]
    ) -> list[DemoDevice]:
        """Switch on every part that runs in this process."""
        devices = []
        for node in nodes:
            node.device = self._device(node, hub)
            devices.append(node.device)
            tasks.create_task(self._power(node.planned.name).feed(node.opened))
        for planned in ACCESS_POINTS:
            identity = self._members.identities[planned.name]
            device = DemoDevice(planned, self.folder.member(planned.name), identity, hub)
            devices.append(device)
            tasks.create_task(self._power(planned.name).feed(device.opened))
        for name in SERVERS:
            identity, code = self._members.identities[name], self._prepared.server_codes[name]
            server = DemoServer(self.folder.member(name), identity, hub, code)
            tasks.create_task(self._power(name).feed(server.opened))
        return devices

    def _device(self, node: DemoNode, hub: HubAddress) -> DemoDevice:
        identity = self._members.identities[node.planned.name]
        return DemoDevice(node.planned, node.folder, identity, hub, node=node.folder)

    def _power(self, name: str) -> PowerSwitch:
        return self._powers.setdefault(name, PowerSwitch())

    def _end(self) -> None:
        for power in self._powers.values():
            power.end()

    def _incident(self, weather: DemoWeather) -> DemoIncident:
        if self.scenario == "blackout":
            return ServerDies(self._powers[SERVERS[0]])
        return RelayDies(self._powers[RELAY], weather)

    async def _claim(self, plan: HubPlan, devices: list[DemoDevice]) -> None:
        api = await fleet_hub.signed_in(plan, self._prepared.password, self.folder.path / CLI)
        for device in devices:  # in the order of the plan, which is how they are listed
            await device.claim(api)
        await api.sign_out()

    def _tour(self, plan: HubPlan, broker: str) -> Tour:
        return Tour(
            folder=self.folder,
            hub=plan,
            password=self._prepared.password,
            broker=broker,
            program=self.program,
            days=self.days,
        )

    def _pipeline(self, nodes: list[DemoNode]) -> DemoPipeline:
        spools = [self.folder.hub, self.folder.broker, *(each.folder for each in nodes)]
        return DemoPipeline(
            self.folder,
            spools,
            days=self.days,
            every=self.every,
            tell=self.callbacks.lake,
            say=self.callbacks.say,
        )


async def _listen(keyboard: Keyboard, control: IncidentControl) -> None:
    """Turn the incident on and off by key, until cancelled."""
    while True:
        async for key in keyboard.keys(_KEYS_S):
            if key == KEY:
                await control.turn()


def program() -> str:
    """The name of the program in commands that can be copied."""
    called, known = Path(sys.argv[0]), shutil.which("rookery")
    if not called.is_file() or (known is not None and called.samefile(known)):
        return "rookery"
    return min(str(called), os.path.relpath(called), key=len)
