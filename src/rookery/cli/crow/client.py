"""A broker's client, for as long as one verb runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rookery.cli.crow.open_tower import tower_for_route
from rookery.cli.crow.options import CrowBrokerOptions, CrowSendOptions
from rookery.errors import UnreachableError, UsageError
from rookery.runtime.crow.client import CrowClient
from rookery.wire.crow import address as crow_address
from rookery.wire.crow.pubsub import THEME_SIZE_MAX

REFUSAL_S = 0.1  # in which a tower says that it has no broker, after its acknowledgement


class BrokerRefusal:
    """Watches for the answer of a tower that has no broker."""

    def __init__(self, client: CrowClient, address: str) -> None:
        self._address = address
        self._refused = asyncio.Event()
        client.on_refused = self._refused.set

    async def check(self) -> None:
        """UnreachableError when the tower has answered that it has no broker."""
        try:
            async with asyncio.timeout(REFUSAL_S):
                await self._refused.wait()
        except TimeoutError:
            return
        raise UnreachableError(f"the tower at {self._address} has no broker")


@asynccontextmanager
async def broker_client(
    broker_options: CrowBrokerOptions, send_options: CrowSendOptions
) -> AsyncIterator[tuple[CrowClient, BrokerRefusal]]:
    """A client of the broker, on a tower of its own."""
    route = crow_address.parse(broker_options.address)
    async with tower_for_route(route, send_options) as site:
        client = site.tower.client(route)
        try:
            yield client, BrokerRefusal(client, broker_options.address)
        except UnreachableError as error:
            hint = f"is there a broker at {broker_options.address}? Name another with --broker"
            raise UnreachableError(f"{error}; {hint}") from error


def checked_theme(text: str) -> bytes:
    """A theme as it is on the wire; UsageError when it is too long for that."""
    theme = text.encode(errors="surrogateescape")
    if not 0 < len(theme) <= THEME_SIZE_MAX:
        raise UsageError(f"a theme of {len(theme)} bytes; it has 1 to {THEME_SIZE_MAX}")
    return theme
