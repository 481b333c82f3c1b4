"""Trouble for a flock, of the kinds that wide areas and machines make, and what came of it.

    kill      a relay's process dies; its system resets its connections
    block     nothing passes over a link in one direction, and nobody is told
    freeze    a relay stops for a while, its connections stand
    thaw      it goes on, to peers that have given it up
    move      a host has another address

Each falls on what most packets pass at that moment.
"""

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from itertools import pairwise

from rookery.runtime.control.messages import ControlCommand
from rookery.runtime.node.snapshot import PeerRow
from tests.e2e.mesh.diagnosis import diagnosis
from tests.e2e.mesh.flock import Edge, Flock, are_near, edges, weather
from tests.e2e.mesh.lab import Lab, Weather
from tests.e2e.mesh.pinger import Outages, PairsLostError, Pinger

READY_S = 300.0  # which only a hang reaches, on however busy a machine
OVER_S = 300.0  # likewise: from here on a ping that is not answered is lost for good
FROZEN_S = 10.0
WITNESSES = 2

_POLL_S = 0.2

Routes = Mapping[Edge, tuple[int, ...]]


class Trouble:
    """Makes it, and waits until all pairs that should answer do so again."""

    def __init__(self, flock: Flock, pinger: Pinger, lab: Lab | None) -> None:
        self._flock = flock
        self._pinger = pinger
        self._lab = lab
        self._moves = 0

    async def kill(self) -> Outages:
        victim = self._busiest(await self._flock.routes())
        self._watch(await self._over(victim))
        pairs = [pair for pair in self._flock.pairs() if victim not in pair]

        async def work() -> None:
            await asyncio.to_thread(self._flock.birds[victim].kill)

        return await self._after("kill -9 of a relay (a reset tells)", work, pairs)

    async def revive(self) -> None:
        """Whoever was killed comes back, and the links that were cut."""
        for bird in self._flock.birds:
            if not bird.is_alive:
                await asyncio.to_thread(bird.revive)
        await ready(self._flock)
        self._pinger.begin()

    async def block(self) -> Outages:
        """One direction of the link that most packets pass; it is free again afterwards."""
        assert self._lab is not None
        routes = await self._flock.routes()
        passed = Counter(
            step
            for pair in self._flock.pairs()
            for step in pairwise(routes[pair])
            if not self._is_bridge(step)
        )
        (source, target), _ = passed.most_common(1)[0]
        steps = {pair: list(pairwise(routes[pair])) for pair in self._flock.pairs()}
        self._watch(pair for pair in steps if (source, target) in steps[pair])
        hosts = self._lab.hosts[source], self._lab.hosts[target]
        lab = self._lab

        async def work() -> None:
            lab.from_to(*hosts, Weather(blocked=True))

        try:
            what = "one direction of a link blocked (silent)"
            return await self._after(what, work, self._flock.pairs())
        finally:
            lab.from_to(*hosts, weather(source, target))

    async def freeze(self) -> tuple[Outages, Outages]:
        """Of the others while it is frozen, and of all when it goes on."""
        victim = self._busiest(await self._flock.routes())
        self._watch(await self._over(victim))
        bird, stopped_s = self._flock.birds[victim], 0.0
        pairs = [pair for pair in self._flock.pairs() if victim not in pair]

        async def stop() -> None:
            nonlocal stopped_s
            stopped_s = time.monotonic()
            bird.signal(signal.SIGSTOP)

        async def go_on() -> None:
            bird.signal(signal.SIGCONT)

        frozen = await self._after("a relay frozen (silent)", stop, pairs)
        await asyncio.sleep(max(0.0, stopped_s + FROZEN_S - time.monotonic()))
        what = f"and going on after {FROZEN_S:.0f} s"
        return frozen, await self._after(what, go_on, self._flock.pairs(), before=pairs)

    async def move(self) -> Outages:
        assert self._lab is not None
        routes = await self._flock.routes()
        victim = self._busiest(routes)
        self._watch(pair for pair in self._flock.pairs() if victim in pair)
        host = self._lab.hosts[victim]
        self._moves += 1
        ip = f"10.77.0.{100 + self._moves}"

        async def work() -> None:
            await asyncio.to_thread(host.move, ip)

        return await self._after("a relay's address changed", work, self._flock.pairs())

    # --- inside ---

    async def _after(
        self,
        what: str,
        work: Callable[[], Awaitable[None]],
        pairs: Collection[Edge],
        before: Collection[Edge] | None = None,
    ) -> Outages:
        """What the work did to `pairs`, when those in `before` (or all) were well."""
        well = self._flock.pairs() if before is None else before
        await self._resumed(f"before {what}", well, time.monotonic())
        begun_s = time.monotonic()
        await work()
        await self._resumed(f"after {what}", pairs, begun_s)
        return self._pinger.outages(what, pairs, begun_s)

    async def _resumed(self, when: str, pairs: Collection[Edge], since_s: float) -> None:
        """Wait for it; a failure says what the nodes know of the pairs that are lost."""
        try:
            await self._pinger.resumed(pairs, since_s, OVER_S)
        except PairsLostError as error:
            found = await diagnosis(self._flock, error.pairs)
            raise TimeoutError(f"{when}, {error}\n{found}") from error

    async def _over(self, relay: int) -> list[Edge]:
        routes = await self._flock.routes()
        return [pair for pair in self._flock.pairs() if relay in routes[pair][1:-1]]

    def _busiest(self, routes: Routes) -> int:
        """The relay without which all others still reach each other."""
        alive = {bird.number for bird in self._flock.alive}
        passed = Counter(
            node
            for nodes in routes.values()
            for node in nodes[1:-1]
            if _is_connected(alive - {node}, edges(len(self._flock.birds)))
        )
        return passed.most_common(1)[0][0]

    def _is_bridge(self, step: Edge) -> bool:
        alive = {bird.number for bird in self._flock.alive}
        kept = [edge for edge in edges(len(self._flock.birds)) if set(edge) != set(step)]
        return not _is_connected(alive, kept)

    def _watch(self, pairs: Iterable[Edge]) -> None:
        """Look closely at a few, no two from or to the same node: it bounds what it answers."""
        witnesses: list[Edge] = []
        for pair in pairs:
            if not any(set(pair) & set(other) for other in witnesses):
                witnesses.append(pair)
        self._pinger.witness(witnesses[:WITNESSES])


async def ready(flock: Flock) -> None:
    """Wait until all know all, and every link carries datagrams beside its stream."""
    count = len(flock.birds)
    wanted = 2 * len(edges(count))
    begun_s = time.monotonic()
    while True:
        links, routes = await flock.links(), await flock.routes()
        if len(links) == wanted and len(routes) == count * (count - 1):
            return
        if time.monotonic() > begun_s + READY_S:
            raise TimeoutError(f"{len(routes)} routes; {await _missing(flock, links)}")
        await asyncio.sleep(_POLL_S)


async def _missing(flock: Flock, links: Collection[Edge]) -> str:
    """What is wrong with the links that should be there and are not, from both sides."""
    lines = []
    for bird in flock.alive:
        for peer in await bird.rows(ControlCommand.PEERS, PeerRow):
            other = int(peer.node.name[1:])
            is_edge = are_near(bird.number, other, len(flock.birds))
            if is_edge and (bird.number, other) not in links:
                paths = ", ".join(
                    f"{path.transport} {path.address} {path.state.value} {path.last_error}"
                    for path in peer.paths
                )
                lines.append(f"{bird.number} to {other} {peer.state.value}: {paths}")
    return "; ".join(lines)


def _is_connected(nodes: Collection[int], links: Iterable[Edge]) -> bool:
    near: dict[int, set[int]] = {node: set() for node in nodes}
    for one, other in links:
        if one in near and other in near:
            near[one].add(other)
            near[other].add(one)
    seen: set[int] = set()
    waiting = list(nodes)[:1]
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += near[node]
    return len(seen) == len(near)
