"""Alice with doors, and Bob as her exit."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rookery.link.channels.sock import SockProtocol
from rookery.mesh.proxy.exit_memory import Exit
from rookery.mesh.proxy.rules import ProxyRules
from rookery.runtime.proxy.connector import Connector
from rookery.runtime.proxy.remote_listener import ExpectedConnections
from rookery.runtime.proxy.service import ProxyService
from tests.runtime.proxy.town import ALICE, BOB, Town

LOCAL = ["tcp 127.0.0.1:*", "udp 127.0.0.1:*", "bind tcp 127.0.0.1:*", "tcp *.example:*"]


async def names(host: str, port: int, protocol: SockProtocol) -> list[str]:
    """A resolver that needs no network."""
    return {"here.example": ["127.0.0.1"], "inside.example": ["10.0.0.1"]}.get(host, [])


class ProxyWorld:
    def __init__(self, town: Town, rules: list[str]) -> None:
        arrivals = ExpectedConnections()
        self.town = town
        self.bob = ProxyService(
            ProxyRules.parse(rules), open_stream=town.opener(BOB), resolve=names
        )
        self.alice = Connector(town.opener(ALICE), self.exits, arrivals=arrivals, resolve=names)
        town.serve(BOB, self.bob.handle)
        town.serve(ALICE, ProxyService(arrivals=arrivals).handle)

    def exits(self) -> list[Exit]:
        return [Exit(BOB, self.bob.services(), 1000)]


@asynccontextmanager
async def proxy_world(rules: list[str] = LOCAL) -> AsyncIterator[ProxyWorld]:
    async with Town() as town:
        yield ProxyWorld(town, rules)
