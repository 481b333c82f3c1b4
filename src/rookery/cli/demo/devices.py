"""Devices: agents of routers, which report by real packets and are claimed by their owner."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from rookery.agent.agent import Agent, AgentSettings
from rookery.agent.methods.config import AgentConfig
from rookery.cli.demo.site_plan import Place, mac
from rookery.client.api import HubApi
from rookery.fleet.reporter_events import Enrolled, Renewed, ReporterEvent
from rookery.identity.identity import Identity
from rookery.runtime.hub_address import HubAddress

INTERVAL_S = 5.0


class Device:
    """One router's agent; `opened` whenever it has power."""

    def __init__(
        self,
        place: Place,
        folder: Path,
        identity: Identity,
        hub: HubAddress,
        node: Path | None = None,
    ) -> None:
        self.place = place
        self._settings = AgentSettings(
            identity=identity,
            hub=hub,
            mac=mac(place),
            config=AgentConfig(interval_s=INTERVAL_S),
            config_folder=folder,
            keep=folder,
            node=node,
        )
        self._code: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Agent]:
        async with await Agent.start(self._settings, self._heard) as agent:
            yield agent

    async def claim(self, api: HubApi) -> None:
        """Make it the caller's, once the hub knows it."""
        await api.claim(mac(self.place), await self._code, self.place.name)

    def _heard(self, event: ReporterEvent) -> None:
        match event:
            case Enrolled(code) | Renewed(code) if not self._code.done():
                self._code.set_result(code)
            case _:
                pass
