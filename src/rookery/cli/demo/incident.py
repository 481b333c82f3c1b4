"""Incidents: what may be let happen to the world, and be undone again."""

from typing import Protocol

import msgspec

from rookery.cli.demo.power import Power
from rookery.cli.demo.site_plan import RELAY, SERVERS, WATCHED
from rookery.cli.demo.weathers import Weathers


class Told(msgspec.Struct, frozen=True):
    """What has just happened, and where to look."""

    text: str
    is_over: bool


class Incident(Protocol):
    async def begin(self) -> Told: ...

    async def end(self) -> Told: ...


class RelayDies:
    """Without a word: its lines are dead before it can say goodbye."""

    def __init__(self, power: Power, weathers: Weathers) -> None:
        self._power = power
        self._weathers = weathers

    async def begin(self) -> Told:
        if self._power.is_on:
            self._weathers.cut(RELAY, is_cut=True)
            await self._power.switch_off()
        one, other = WATCHED
        text = f"{RELAY} is dead; see how packets from {one} to {other} go around it"
        return Told(text, is_over=False)

    async def end(self) -> Told:
        self._weathers.cut(RELAY, is_cut=False)
        await self._power.switch_on()
        return Told(f"{RELAY} is back; the shorter way is taken again before long", is_over=True)


class ServerDies:
    """The hub hears no more of it, and sends routers and owners to the other one."""

    def __init__(self, power: Power) -> None:
        self._power = power

    async def begin(self) -> Told:
        await self._power.switch_off()
        return Told(f"{SERVERS[0]} is dead; connections go to {SERVERS[1]}", is_over=False)

    async def end(self) -> Told:
        await self._power.switch_on()
        return Told(f"{SERVERS[0]} is back", is_over=True)
