"""Servers: where owners and their routers meet; two of them, so that one may die."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from rookery.cli.demo.ports import HOST
from rookery.identity.identity import Identity
from rookery.runtime.hub_address import HubAddress
from rookery.server.server import Server
from rookery.server.settings import ServerSettings

SEATS = 256
REPORT_S = 5.0


class MeetingPlace:
    """One server; `opened` whenever it has power."""

    def __init__(self, folder: Path, identity: Identity, hub: HubAddress, code: str) -> None:
        self._identity = identity
        self._hub = hub
        self._settings = ServerSettings(
            folder=folder,
            tcp=f"{HOST}:0",
            http=f"{HOST}:0",
            seats_max=SEATS,
            code=code,
            report_s=REPORT_S,
            drain_s=0.2,
        )

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Server]:
        server = await Server.start(self._settings, self._identity, self._hub)
        try:
            yield server
        finally:
            await server.close()
