"""The tour: pages to look at, and commands that work as they are printed."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rookery.cli.demo.fleet_hub import LOGIN, HubPlan
from rookery.cli.demo.folder import NAME, DemoFolder
from rookery.cli.demo.site_plan import DEVICES, LINKS, NODES, SERVERS, WATCHED, mac
from rookery.cli.terminal.screen import Json
from rookery.wire.fleet.mac import mac_text

CLI = "cli"  # folder of the sign-in that the commands use


@dataclass(frozen=True, kw_only=True)
class Tour:
    """The tour of one world; only here is its password shown."""

    folder: DemoFolder
    hub: HubPlan
    password: str
    broker: str
    program: str  # how this program was called
    days: int

    def __repr__(self) -> str:
        return f"Tour({self.folder.path})"

    def lines(self) -> Iterator[str]:
        yield from self._introduction()
        yield ""
        pages = [(self.hub.url + path, text) for path, text in self.pages()]
        yield from _columns(pages)
        yield ""
        yield from _columns(list(self.commands()))
        yield ""
        yield f"  Press i, or type in another terminal:  {self.incident_command()}"
        yield "  and watch traffic move to another route; i once more ends the incident."
        yield "  Ctrl-C ends it all."

    def _introduction(self) -> Iterator[str]:
        near = sum(link.one.split("-")[0] == link.other.split("-")[0] for link in LINKS)
        yield (
            f"{len(DEVICES)} devices at three sites report to a hub, {len(NODES)} of them are a "
            f"mesh of {len(LINKS)} links,"
        )
        yield (
            f"{len(LINKS) - near} of them long: one loses packets, one comes and goes. "
            f"{len(SERVERS)} servers, a broker and its sensors."
        )
        if self.days:
            yield f"{self.days} days of their past are being worked on; insights take a while."
        yield ""
        yield f"  sign in at {self.hub.url}/ as {LOGIN}, password {self.password}"

    def pages(self) -> Iterator[tuple[str, str]]:
        yield "/fleet", "how the fleet is"
        yield "/fleet/map", f"the mesh; show the route from {WATCHED[0]} to {WATCHED[1]}"
        yield "/fleet/incidents", "what is wrong, and what was"
        yield "/", "your devices; connect to one and call its methods"
        if self.days:
            yield "/fleet/insights", "what the lake has learned"
            yield "/fleet/servers", "servers now, and as they are expected to be"
        yield "/fleet/topics", "what the sensors publish"

    def commands(self) -> Iterator[tuple[str, str]]:
        one, other = WATCHED
        node, device = self._path(one), mac_text(mac(DEVICES[0]))
        data = f"--data {self._path(CLI)}"
        yield f"{self._program} explain {other} --id {node}", "why packets take the route they take"
        yield f"{self._program} trace {other} --id {node}", "every node of the route"
        yield f"{self._program} top --id {node}", "its links, live"
        yield f"{self._program} devices {data}", "your devices"
        yield f"{self._program} rpc {device} system.info {data}", "ask one of them"
        theme = shlex.quote("berlin/#")
        yield f"{self._program} crow sub {theme} --broker {self.broker}", "listen to the sensors"
        if self.days:
            sql = shlex.quote("SELECT cause, members FROM insights.incidents")
            yield f"{self._program} lake status --data {self._path('lake')}", "tables of the lake"
            yield f"{self._program} lake query --data {self._path('lake')} {sql}", "ask it anything"

    def incident_command(self) -> str:
        where = "" if self.folder.path == NAME else f" --folder {self._path('.')}"
        return f"{self._program} demo incident{where}"

    def json(self) -> Json:
        return {
            "event": "ready",
            "url": self.hub.url,
            "login": LOGIN,
            "password": self.password,
            "folder": str(self.folder.path),
            "broker": self.broker,
            "pages": [self.hub.url + path for path, _ in self.pages()],
            "commands": [command for command, _ in self.commands()],
            "incident": self.incident_command(),
        }

    @property
    def _program(self) -> str:
        return shlex.quote(self.program)

    def _path(self, name: str | Path) -> str:
        return shlex.quote(str(self.folder.path / name))


def _columns(rows: list[tuple[str, str]]) -> Iterator[str]:
    width = max(len(first) for first, _ in rows)
    for first, second in rows:
        yield f"  {first:<{width}}  {second}"
