"""A haul: two nodes that only relays join, and bytes through a tunnel from one to the other.

    source ──┬── relay 0 ──┬── target
             ├── relay 1 ──┤
             └──    …    ──┘

Every node is a process in a host of its own. The relays do not reach each other, so that there are
as many disjoint routes of two hops as there are relays.
"""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from rookery.wire.link.lob import JsonObject
from tests.cli.program import PROGRAM, Running
from tests.e2e.mesh.flock import PORT, Bird, started, write_link
from tests.e2e.mesh.lab import Host, Lab, Weather
from tests.e2e.processes import ROOT
from tests.patience import PATIENCE_S
from tests.runtime.realms import Home, realm

READY_S = 60.0


class PathFacts(msgspec.Struct):
    """What the source reports of one path of its tunnel."""

    label: str
    is_silent: bool
    rtt_s: float
    rate: float
    sent_size: int
    lost_packets: int
    marks: int


class Taken(msgspec.Struct):
    """What the target has read."""

    size: int
    sha256: str
    silences: list[tuple[float, float]]
    seconds: float

    def gap_s(self, begun_s: float, ended_s: float) -> float:
        """The longest silence between these times, whenever it began and ended."""
        gaps = [min(to, ended_s) - max(since, begun_s) for since, to in self.silences]
        return max((gap for gap in gaps if gap > 0), default=0.0)


class Hauled(msgspec.Struct):
    """What the source has written, and heard of its arrival."""

    size: int
    sent: str
    arrived: str
    seconds: float


class End:
    """The source or the target; what it says is kept until somebody waits for it."""

    def __init__(
        self, stack: contextlib.ExitStack, home: Home, host: Host, words: Sequence[str]
    ) -> None:
        self.home = home
        self.host = host
        complaints = stack.enter_context((home.keys / "stderr").open("wb"))
        module = [sys.executable, "-m", "tests.e2e.mesh.haulier"]
        self.process = subprocess.Popen(
            host.command(*module, str(home.keys), str(home.realm), f"0.0.0.0:{PORT}", *words),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        stack.enter_context(self.process)
        stack.callback(self.process.kill)
        self._lines = Running(self.process)
        self._heard: dict[str, deque[JsonObject]] = defaultdict(deque)

    def tell(self, **job: object) -> None:
        self._lines.say(json.dumps(job) + "\n")

    def forget(self, key: str) -> None:
        """What was said with this key until now is of no interest."""
        self._heard[key].clear()

    def hear(self, key: str, patience_s: float = PATIENCE_S) -> JsonObject:
        """The next line with this key."""
        deadline = time.monotonic() + patience_s
        while not self._heard[key]:
            line = self._lines.line(max(0.0, deadline - time.monotonic()))
            assert line, (self.home.keys / "stderr").read_text()
            said: JsonObject = json.loads(line)
            assert "failed" not in said, said
            self._heard[next(iter(said))].append(said)
        return self._heard[key].popleft()


class Haul:
    """All nodes; `haul` makes it."""

    def __init__(self, lab: Lab, source: End, target: End, relays: Sequence[Bird]) -> None:
        self.lab = lab
        self.source = source
        self.target = target
        self.relays = relays

    def paths(self) -> list[PathFacts]:
        """Those that the source's tunnel has now."""
        self.source.tell(do="ways")
        return msgspec.convert(self.source.hear("ways")["ways"], list[PathFacts])

    def explained(self) -> str:
        self.source.tell(do="ways")
        return "\n".join(msgspec.convert(self.source.hear("ways")["explained"], list[str]))

    def begin(self, size: int, *, seed: int = 1, mode: str = "auto") -> None:
        self.target.forget("read")
        self.source.tell(do="haul", size=size, seed=seed, mode=mode)

    def read(self) -> tuple[int, float]:
        """How far the target is, and when it was: at the next mebibyte."""
        said = self.target.hear("read")
        return msgspec.convert((said["read"], said["at"]), tuple[int, float])

    def read_until(self, size: int) -> None:
        while self.read()[0] < size:
            pass

    def end(self) -> tuple[Hauled, Taken]:
        """Wait until everything is there, and see that it is what was sent."""
        hauled = msgspec.convert(self.source.hear("hauled")["hauled"], Hauled)
        taken = msgspec.convert(self.target.hear("taken")["taken"], Taken)
        assert (hauled.sent, hauled.size) == (taken.sha256, taken.size)
        assert hauled.arrived == hauled.sent
        return hauled, taken

    def chat(self, count: int, *, size: int, interval_s: float, mode: str) -> list[float]:
        """Round trips of small messages, in seconds, the shortest first."""
        self.source.tell(do="chat", count=count, size=size, interval_s=interval_s, mode=mode)
        return sorted(msgspec.convert(self.source.hear("chatted")["chatted"], list[float]))

    def busiest(self) -> Bird:
        """The relay that most bytes pass now."""
        before = {path.label: path.sent_size for path in self.paths()}
        time.sleep(0.3)
        gained = {path.label: path.sent_size - before.get(path.label, 0) for path in self.paths()}
        label = max(gained, key=gained.__getitem__)
        return next(relay for relay in self.relays if label == f"over {relay.name}")

    def host(self, relay: Bird) -> Host:
        return self.lab.hosts[2 + relay.number]


def await_ways(haul: Haul, count: int) -> None:
    """A first stream, and wait until its tunnel has measured so many ways."""
    haul.begin(1)
    haul.end()
    deadline = time.monotonic() + READY_S
    while len(paths := haul.paths()) < count or any(path.is_silent for path in paths):
        assert time.monotonic() < deadline, haul.explained()
        time.sleep(0.1)


@contextlib.contextmanager
def haul(folder: Path, weathers: Sequence[Weather], *, mtu: int = 1400) -> Iterator[Haul]:
    """So many relays as there are weathers, each the one of both links of its relay."""
    count = len(weathers)
    names = [f"relay{number}" for number in range(count)]
    source_home, target_home, *homes = realm(folder, "source", "target", *names)
    with Lab(2 + count, mtu=mtu) as lab, contextlib.ExitStack() as stack:
        source_host, target_host, *hosts = lab.hosts
        lab.everywhere(Weather(blocked=True))
        for host, weather in zip(hosts, weathers, strict=True):
            lab.between(source_host, host, weather)
            lab.between(target_host, host, weather)
        relays, links = [], []
        for number, (home, host) in enumerate(zip(homes, hosts, strict=True)):
            links.append(str(write_link(home, host, PORT)))
            options = [*home.options, "--listen", f"0.0.0.0:{PORT}"]
            start = partial(started, stack, home, host.command(str(PROGRAM), "node", *options))
            relays.append(Bird(number, home, start, start()))
        source = End(stack, source_home, source_host, [target_home.hashname, *links])
        target = End(stack, target_home, target_host, [source_home.hashname, *links])
        for relay in relays:
            relay.await_link()
        source.hear("hashname")
        target.hear("hashname")
        yield Haul(lab, source, target, relays)
