"""Weather of the demo: an emulator on every link of the site plan adds delay, loss and outages."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random

from rookery.cli.demo.ports import HOST
from rookery.cli.demo.site_plan import LINKS, PlannedLink
from rookery.runtime.net.link_emulator import EmulatorAddress, LinkEmulator
from rookery.sim.network.weather import WeatheredLink

_SEED = 1


class DemoWeather:
    """The emulated links. The second end of each dials the first, through its emulator."""

    def __init__(self, relays: Mapping[PlannedLink, LinkEmulator]) -> None:
        self._relays = relays

    def leading_from(self, name: str) -> dict[str, EmulatorAddress]:
        """The address at which it dials each of its neighbours."""
        return {link.one: relay.place for link, relay in self._relays.items() if link.other == name}

    def cut(self, name: str, *, is_cut: bool) -> None:
        """Cut or restore all links of a node."""
        for link, relay in self._relays.items():
            if name in (link.one, link.other):
                relay.link.is_cut = is_cut


@asynccontextmanager
async def demo_weather(ports: Mapping[str, int]) -> AsyncIterator[DemoWeather]:
    """Between nodes that listen on these ports."""
    async with AsyncExitStack() as stack:
        relays = {}
        for number, link in enumerate(LINKS):
            emulated = WeatheredLink(link.weather, Random(_SEED + number))  # noqa: S311 (no secret)
            relay = await LinkEmulator.open(emulated, (HOST, ports[link.one]))
            stack.push_async_callback(relay.close)
            relays[link] = relay
        yield DemoWeather(relays)
