"""A flock: the nodes of one realm as processes, each in a place of its own.

    ring of n, each next to the two before and the two after it; all others it reaches over these

In a laboratory every node is a host, and the relay blocks whatever is no edge of the ring. On
loopback nobody tells where it can be dialled, so that only those are linked who were told so.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Protocol

import msgspec

from rookery.runtime.control.client import RowType, connected
from rookery.runtime.control.messages import ControlCommand, ControlRequest
from rookery.runtime.node.snapshot import MemberRouteRow, PeerPathState, PeerRow
from rookery.wire.link.path import net_path
from rookery.wire.link.uri import LinkAddress
from tests.cli.program import PROGRAM
from tests.e2e.mesh.lab import Host, Lab, Weather
from tests.ports import free_ports
from tests.runtime.realms import Home, realm

PORT = 7000
NOWHERE = "127.0.0.1:9"
REACH = 2  # so far around the ring each node's links go
END_S = 60.0
ANSWER_S = 60.0  # at most, of a node to whoever looks at it; no node that is well takes so long

Edge = tuple[int, int]
Start = Callable[[], "subprocess.Popen[bytes]"]


class Place(Protocol):
    """Where one node runs."""

    @property
    def ip(self) -> str: ...

    def command(self, *words: str) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Loopback:
    """This machine itself."""

    ip: str = "127.0.0.1"

    def command(self, *words: str) -> list[str]:
        return list(words)


@dataclass(slots=True)
class Bird:
    """One node of the flock."""

    number: int
    home: Home
    start: Start
    process: "subprocess.Popen[bytes]"
    is_alive: bool = True

    @property
    def name(self) -> str:
        return self.home.name

    @property
    def control(self) -> Path:
        return self.home.keys / "control.sock"

    async def rows(self, do: ControlCommand, kind: type[RowType]) -> list[RowType]:
        async with connected(self.control, timeout_s=ANSWER_S) as client:
            return await client.all(ControlRequest(do=do), kind)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        """Without a word, as a crash; its system resets its connections."""
        self.is_alive = False
        self.process.kill()
        self.process.wait(END_S)

    def revive(self) -> None:
        """The same node once more."""
        self.process = self.start()
        self.await_link()
        self.is_alive = True

    def await_link(self) -> None:
        """Its link is the first thing that it prints, when it listens."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith(b"{"), (self.home.keys / "stderr").read_text()


class Flock:
    """All nodes, by number; `flock` makes it."""

    def __init__(self, birds: Sequence[Bird]) -> None:
        self.birds = birds

    @property
    def alive(self) -> list[Bird]:
        return [bird for bird in self.birds if bird.is_alive]

    def pairs(self) -> list[Edge]:
        """Each two that live, once; everybody asks about as often as it is asked."""
        numbers = [bird.number for bird in self.alive]
        return [
            (one, other) if (one + other) % 2 else (other, one)
            for one, other in combinations(numbers, 2)
        ]

    async def routes(self) -> dict[Edge, tuple[int, ...]]:
        """The nodes that packets of each pair pass now, both ends included."""
        numbers = {bird.home.hashname: bird.number for bird in self.birds}
        found = {}
        for bird in self.alive:
            for route in await bird.rows(ControlCommand.ROUTES, MemberRouteRow):
                if route.best is not None:
                    nodes = tuple(numbers[node.hashname] for node in route.best.nodes)
                    found[bird.number, nodes[-1]] = nodes
        return found

    async def links(self) -> dict[Edge, PeerRow]:
        """Every node's peers that carry packets as datagrams and by stream."""
        numbers = {bird.home.hashname: bird.number for bird in self.birds}
        found = {}
        for bird in self.alive:
            for peer in await bird.rows(ControlCommand.PEERS, PeerRow):
                up = {path.transport for path in peer.paths if path.state is PeerPathState.UP}
                if up >= {"tcp4", "udp4"}:
                    found[bird.number, numbers[peer.node.hashname]] = peer
        return found


def are_near(one: int, other: int, count: int) -> bool:
    """Whether there is an edge of the ring between them."""
    return 0 < min((one - other) % count, (other - one) % count) <= REACH


def edges(count: int) -> list[Edge]:
    return [
        (one, other) for one in range(count) for other in range(one) if are_near(one, other, count)
    ]


def weather(one: int, other: int) -> Weather:
    """A few milliseconds, other ones on each edge, so that routes have reasons."""
    low, high = sorted((one, other))
    return Weather(delay_s=0.002 + 0.001 * ((3 * low + 5 * high) % 4))


@contextlib.contextmanager
def laboratory(count: int) -> Iterator[Lab]:
    """Hosts that reach those next to them, and nobody else."""
    with Lab(count) as lab:
        lab.everywhere(Weather(blocked=True))
        for one, other in edges(count):
            lab.between(lab.hosts[one], lab.hosts[other], weather(one, other))
        yield lab


@contextlib.asynccontextmanager
async def flock(folder: Path, hosts: Sequence[Host] | int) -> AsyncIterator[Flock]:
    """Start a node in every host, or so many on loopback; end those that are still there."""
    places: Sequence[Place] = hosts if not isinstance(hosts, int) else [Loopback()] * hosts
    count = len(places)
    ports = [PORT] * count if not isinstance(hosts, int) else free_ports(count)
    homes = realm(folder, *(f"n{number}" for number in range(count)))
    links = [write_link(*each) for each in zip(homes, places, ports, strict=True)]
    with contextlib.ExitStack() as stack:
        birds = []
        for number, (home, place, port) in enumerate(zip(homes, places, ports, strict=True)):
            peers = [links[(number + 1) % count]]
            options = ["--listen", f"0.0.0.0:{port}"]
            if isinstance(place, Loopback):
                options = ["--listen", f"{place.ip}:{port}", "--advertise", NOWHERE]
                peers.append(links[(number + 2) % count])
            for link in peers:
                options += ["--peer", str(link)]
            command = place.command(str(PROGRAM), "node", *home.options, *options)
            start = partial(started, stack, home, command)
            birds.append(Bird(number, home, start, start()))
        await asyncio.gather(*(asyncio.to_thread(bird.await_link) for bird in birds))
        yield Flock(birds)


def write_link(home: Home, place: Place, port: int) -> Path:
    path = net_path("tcp", place.ip, port)
    link = LinkAddress(home.hashname, dict(home.identity.keys), (path,))
    file = home.keys / "own.link"
    file.write_bytes(msgspec.json.encode(link.json()))
    return file


def started(
    stack: contextlib.ExitStack, home: Home, command: Sequence[str]
) -> "subprocess.Popen[bytes]":
    complaints = stack.enter_context((home.keys / "stderr").open("wb"))
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=complaints,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    stack.enter_context(process)
    stack.callback(process.kill)  # also one that is stopped
    return process
