"""A colony: the named nodes of one realm as processes on loopback, linked only as they are told.

alice ── east, west ── north, south ── bob        `start` with the nodes to link with
"""

import contextlib
import signal
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from tests.cli.program import Outcome, Running, rookery, running
from tests.patience import PATIENCE_S
from tests.runtime.realms import Home, realm

NOWHERE = "127.0.0.1:9"  # what records tell, so that nobody dials whom it was not told to
HIDDEN = "none"  # nor do those at the two ends of a tunnel tell each other of a direct way


class Colony:
    """Its nodes by name; made by `colony`."""

    def __init__(self, folder: Path, homes: dict[str, Home], stack: contextlib.ExitStack) -> None:
        self.homes = homes
        self.nodes: dict[str, Running] = {}
        self._folder = folder
        self._stack = stack

    def start(
        self, name: str, *options: str, near: Collection[str] = (), advertise: str = NOWHERE
    ) -> None:
        """Start a node that links with those near it, which are started already."""
        peers = [option for peer in near for option in ("--peer", str(self.link(peer)))]
        words = ("node", *self.homes[name].options, "--advertise", advertise, *peers, *options)
        self.nodes[name] = self._stack.enter_context(running(*words))
        link = self.nodes[name].line()
        assert link.startswith("{"), self.nodes[name].error_line()
        self.link(name).write_text(link)

    def link(self, name: str) -> Path:
        return self._folder / f"{name}.link"

    def hashname(self, name: str) -> str:
        return self.homes[name].hashname

    def ask(self, name: str, verb: str, *arguments: str) -> Outcome:
        """Run a verb that asks this node."""
        return rookery(verb, *arguments, "--id", self.homes[name].keys)

    @contextlib.contextmanager
    def listener(self, name: str, verb: str, *arguments: str) -> Iterator[tuple[Running, int]]:
        """A listener of this node, and the port it listens on."""
        with running(verb, *arguments, "--id", self.homes[name].keys) as listener:
            yield listener, port_in(listener.line())

    def relays(self, name: str, to: str) -> list[tuple[str, ...]]:
        """Who is between two nodes, for each route there is; the one in use first."""
        rows = self.ask(name, "routes", "--json").json_lines()
        route = next((row for row in rows if _name(row["to"]) == to), None)
        if route is None or not isinstance(route["way"], dict):
            return []
        assert isinstance(route["alternates"], list)
        ways = (route["way"], *route["alternates"])
        return [tuple(map(_name, way["nodes"][1:-1])) for way in ways]

    def kill(self, name: str) -> None:
        """Without a word, as a crash."""
        self.nodes[name].signal(signal.SIGKILL)
        self.nodes[name].wait()


@contextlib.contextmanager
def colony(folder: Path, *names: str, exits: Collection[str] = ()) -> Iterator[Colony]:
    """A realm of these, none of them started; the first is its founder."""
    homes = {home.name: home for home in realm(folder, *names, exits=exits)}
    with contextlib.ExitStack() as stack:
        yield Colony(folder, homes, stack)


@contextlib.contextmanager
def two_relays_apart(folder: Path, *options: str) -> Iterator[Colony]:
    """alice ── east, west ── north, south ── bob, the exit, with these options."""
    names = ("east", "west", "north", "south", "alice", "bob")
    with colony(folder, *names, exits=["bob"]) as nodes:
        for name in ("east", "west"):
            nodes.start(name)
        for name in ("north", "south"):
            nodes.start(name, near=["east", "west"])
        nodes.start("alice", near=["east", "west"], advertise=HIDDEN)
        nodes.start("bob", *options, near=["north", "south"], advertise=HIDDEN)
        until(lambda: len(nodes.relays("alice", "bob")) == 2)
        yield nodes


def exits(*rules: str) -> list[str]:
    """The options that allow this."""
    return [option for rule in rules for option in ("--exit", rule)]


def port_in(line: str) -> int:
    """The port of loopback that a line tells of."""
    where = next(word for word in line.split() if word.startswith("127.0.0.1:"))
    return int(where.rstrip(",").rpartition(":")[2])


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.1)


def _name(who: object) -> str:
    assert isinstance(who, dict)
    return str(who["name"])
