"""Incidents: faults that the user can start and end, by key or from another terminal.

Over the socket, one line each way:

    {"do": "begin"} ──▶     ◀── {"text": "berlin-relay is dead; …", "is_over": false}
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from rookery.cli.demo.power_switch import PowerSwitch
from rookery.cli.demo.site_plan import RELAY, SERVERS, WATCHED
from rookery.cli.demo.weather import DemoWeather
from rookery.errors import UnreachableError
from rookery.runtime.control.unix_socket import listening, reachable


class IncidentNotice(msgspec.Struct, frozen=True):
    """What happened, and where to see it."""

    text: str
    is_over: bool


class DemoIncident(Protocol):
    async def begin(self) -> IncidentNotice: ...

    async def end(self) -> IncidentNotice: ...


class RelayDies:
    """Its links are cut before it can say goodbye."""

    def __init__(self, power: PowerSwitch, weather: DemoWeather) -> None:
        self._power = power
        self._weather = weather

    async def begin(self) -> IncidentNotice:
        if self._power.is_on:
            self._weather.cut(RELAY, is_cut=True)
            await self._power.switch_off()
        one, other = WATCHED
        text = f"{RELAY} is dead; see how packets from {one} to {other} go around it"
        return IncidentNotice(text, is_over=False)

    async def end(self) -> IncidentNotice:
        self._weather.cut(RELAY, is_cut=False)
        await self._power.switch_on()
        return IncidentNotice(
            f"{RELAY} is back; the shorter route is taken again before long", is_over=True
        )


class ServerDies:
    """Its reports stop; the hub sends devices and owners to the other one."""

    def __init__(self, power: PowerSwitch) -> None:
        self._power = power

    async def begin(self) -> IncidentNotice:
        await self._power.switch_off()
        return IncidentNotice(
            f"{SERVERS[0]} is dead; connections go to {SERVERS[1]}", is_over=False
        )

    async def end(self) -> IncidentNotice:
        await self._power.switch_on()
        return IncidentNotice(f"{SERVERS[0]} is back", is_over=True)


ANSWER_S = 30.0

_LINE_SIZE_MAX = 4096


class IncidentCommand(msgspec.Struct, frozen=True):
    do: Literal["begin", "end"]


class IncidentControl:
    """Carries out commands, one at a time."""

    def __init__(self, incident: DemoIncident, tell: Callable[[IncidentNotice], None]) -> None:
        self._incident = incident
        self._tell = tell
        self._one_at_a_time = asyncio.Lock()
        self._is_over = True

    async def carry_out(self, command: IncidentCommand) -> IncidentNotice:
        async with self._one_at_a_time:
            is_begun = command.do == "begin"
            notice = await (self._incident.begin() if is_begun else self._incident.end())
            self._is_over = notice.is_over
            self._tell(notice)
            return notice

    async def turn(self) -> IncidentNotice:
        """Start the incident, or end it."""
        return await self.carry_out(IncidentCommand("begin" if self._is_over else "end"))


@asynccontextmanager
async def incident_socket(control: IncidentControl, path: Path) -> AsyncIterator[None]:
    """Take commands at the socket while open."""
    with _bound(path) as bound:
        server = await asyncio.start_unix_server(
            _request_handler(control.carry_out), sock=bound, limit=_LINE_SIZE_MAX
        )
        try:
            yield
        finally:
            server.close()


@contextmanager
def _bound(path: Path) -> Iterator[socket.socket]:
    """Remove the socket from the folder afterwards."""
    bound = listening(path)
    try:
        yield bound
    finally:
        path.unlink(missing_ok=True)


def _request_handler(
    carry_out: Callable[[IncidentCommand], Awaitable[IncidentNotice]],
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            command = msgspec.json.decode(await reader.readline(), type=IncidentCommand)
            writer.write(msgspec.json.encode(await carry_out(command)) + b"\n")
            await writer.drain()
        except (msgspec.DecodeError, ValueError, OSError):
            pass  # only this user's own programs get here; one that talks nonsense gets no answer
        finally:
            writer.close()

    return answer


async def send_command(path: Path, command: IncidentCommand) -> IncidentNotice:
    """UnreachableError where no demo runs."""
    try:
        async with asyncio.timeout(ANSWER_S):
            with reachable(path) as address:
                reader, writer = await asyncio.open_unix_connection(address)
            writer.write(msgspec.json.encode(command) + b"\n")
            line = await reader.readline()
            writer.close()
        return msgspec.json.decode(line, type=IncidentNotice)
    except (OSError, TimeoutError, msgspec.DecodeError) as error:
        raise UnreachableError(
            f"no demo answers at {path}; start one with: rookery demo"
        ) from error
