"""Datagrams while UDP is blocked, allowed and blocked again: each class has its fate (M10, M11)."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest

from rookery.runtime.control.client import connected
from rookery.runtime.control.messages import ControlCommand, ControlRequest
from rookery.runtime.node.snapshot import NodeCounters, PeerPathState, PeerRow
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.path import net_path
from rookery.wire.link.uri import LinkAddress
from tests.cli.program import Running
from tests.e2e.mesh.lab import Host, Lab, Weather, is_possible
from tests.e2e.processes import ROOT
from tests.patience import PATIENCE_S
from tests.runtime.realms import Home, realm

pytestmark = [
    pytest.mark.skipif(not is_possible(), reason="needs root and /dev/net/tun"),
    pytest.mark.slow,
    pytest.mark.xdist_group("lab"),
]

PORT = 7000
COUNT = 5
SMALL, LARGE, HUGE = 100, 2000, 300_000
CLASSES = ("drop", "fallback", "reliable_ok")
OPEN = Weather(delay_s=0.002)
NO_UDP = Weather(delay_s=0.002, udp_blocked=True)

Fates = dict[str, dict[str, int]]


class Courier:
    """One of the two nodes."""

    def __init__(self, home: Home, host: Host, other: Home, *peers: Path) -> None:
        self.home = home
        command = host.command(
            sys.executable,
            "-m",
            "tests.e2e.mesh.courier",
            str(home.keys),
            str(home.realm),
            f"0.0.0.0:{PORT}",
            other.hashname,
            *map(str, peers),
        )
        self.process = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self._lines = Running(self.process)

    def line(self) -> JsonObject:
        said: JsonObject = json.loads(self._lines.line())
        return said

    def send(
        self, kind: str, size: int, *, count: int = COUNT, deadline_s: float | None = None
    ) -> JsonObject:
        job = {"class": kind, "count": count, "size": size, "deadline_s": deadline_s}
        self._lines.say(json.dumps(job) + "\n")
        return self.line()

    def arrivals(self, count: int) -> Counter[tuple[str, int]]:
        """The next so many datagrams that came here, by class and size."""
        found: Counter[tuple[str, int]] = Counter()
        for _ in range(count):
            kind_and_size = self.line()["arrived"]
            assert isinstance(kind_and_size, list)
            kind, size = kind_and_size
            found[kind, size] += 1
        return found

    async def counters(self) -> Fates:
        async with connected(self.home.keys / "control.sock") as client:
            return (
                await client.one(ControlRequest(do=ControlCommand.COUNTERS), NodeCounters)
            ).datagrams

    async def ways(self) -> dict[str, PeerPathState]:
        async with connected(self.home.keys / "control.sock") as client:
            peers = await client.all(ControlRequest(do=ControlCommand.PEERS), PeerRow)
        return {path.transport: path.state for peer in peers for path in peer.paths}

    async def until_udp(self, *states: PeerPathState | None) -> None:
        """Wait until there is TCP, and UDP is in one of these states."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            ways = await self.ways()
            if ways.get("tcp4") is PeerPathState.UP and ways.get("udp4") in states:
                return
            assert time.monotonic() < deadline, ways
            await asyncio.sleep(0.1)


@contextlib.asynccontextmanager
async def couriers(folder: Path, lab: Lab) -> AsyncIterator[tuple[Courier, Courier]]:
    """The second one knows of the first."""
    alice, bob = realm(folder, "alice", "bob")
    path = net_path("tcp", lab.hosts[0].ip, PORT)
    link = LinkAddress(alice.hashname, dict(alice.identity.keys), (path,))
    file = folder / "alice.link"
    file.write_bytes(msgspec.json.encode(link.json()))
    with contextlib.ExitStack() as stack:
        one = stack.enter_context(_ended(Courier(alice, lab.hosts[0], bob)))
        other = stack.enter_context(_ended(Courier(bob, lab.hosts[1], alice, file)))
        for courier in (one, other):
            assert courier.line()["hashname"] == courier.home.hashname
        yield one, other


@contextlib.contextmanager
def _ended(courier: Courier) -> Iterator[Courier]:
    with courier.process:
        try:
            yield courier
        finally:
            courier.process.kill()


def gained(before: Fates, after: Fates) -> Fates:
    """What the counters grew by."""
    grown: Fates = {}
    for kind, fates in after.items():
        for fate, count in fates.items():
            if more := count - before.get(kind, {}).get(fate, 0):
                grown.setdefault(kind, {})[fate] = more
    return grown


async def sent_in_each_class(sender: Courier) -> Fates:
    """Small ones in each class, and what the counters say of them."""
    before = await sender.counters()
    for kind in CLASSES:
        sender.send(kind, SMALL)
    return gained(before, await sender.counters())


BY_STREAM = {
    "drop": {"dropped_no_udp": COUNT},
    "fallback": {"sent_tcp": COUNT},
    "reliable_ok": {"sent_tcp": COUNT},
}
BY_DATAGRAM = {kind: {"sent_udp": COUNT} for kind in CLASSES}


async def test_each_class_has_its_fate_while_udp_comes_and_goes(tmp_path: Path) -> None:
    with Lab(2) as lab:
        lab.everywhere(NO_UDP)
        async with couriers(tmp_path, lab) as (alice, bob):
            for courier in (alice, bob):
                await courier.until_udp(
                    None, PeerPathState.PROBING, PeerPathState.DOWN, PeerPathState.UNPROVEN
                )
            for sender, receiver in ((alice, bob), (bob, alice)):
                assert await sent_in_each_class(sender) == BY_STREAM
                assert receiver.arrivals(2 * COUNT) == {
                    ("fallback", SMALL): COUNT,
                    ("reliable_ok", SMALL): COUNT,
                }

            lab.everywhere(OPEN)
            for courier in (alice, bob):
                await courier.until_udp(PeerPathState.UP)
            for sender, receiver in ((alice, bob), (bob, alice)):
                assert await sent_in_each_class(sender) == BY_DATAGRAM
                assert receiver.arrivals(3 * COUNT) == {(kind, SMALL): COUNT for kind in CLASSES}
            await _sizes_and_deadlines(alice, bob)

            lab.everywhere(NO_UDP)
            for courier in (alice, bob):
                await courier.until_udp(None, PeerPathState.SUSPECT, PeerPathState.DOWN)
            for sender, receiver in ((alice, bob), (bob, alice)):
                assert await sent_in_each_class(sender) == BY_STREAM
                assert receiver.arrivals(2 * COUNT) == {
                    ("fallback", SMALL): COUNT,
                    ("reliable_ok", SMALL): COUNT,
                }


async def _sizes_and_deadlines(alice: Courier, bob: Courier) -> None:
    """With UDP: what no datagram carries goes by stream if it may; the late is dropped."""
    before = await alice.counters()
    for kind in CLASSES:
        for size in (LARGE, HUGE):
            said = alice.send(kind, size, count=1)
            assert ("refused" in said) == (size == HUGE or kind == "drop"), (kind, size, said)
        assert alice.send(kind, SMALL, count=1, deadline_s=0.0) == {"sent": [kind == "reliable_ok"]}
    assert gained(before, await alice.counters()) == {
        "drop": {"too_large": 2, "dropped_deadline": 1},
        "fallback": {"sent_tcp": 1, "too_large": 1, "dropped_deadline": 1},
        "reliable_ok": {"sent_tcp": 1, "too_large": 1, "sent_udp": 1},
    }
    assert bob.arrivals(3) == {
        ("fallback", LARGE): 1,
        ("reliable_ok", LARGE): 1,
        ("reliable_ok", SMALL): 1,
    }
