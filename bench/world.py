"""Packets a second that reach real endpoints in the deterministic world, beside their crypto.

Twenty endpoints in a ring with chords send each other frames of 128 bytes, sealed and opened as on
a real wire. The limit is what sealing and opening the same packets takes, and nothing else. Seconds
are those of the processor: one thread does it all.
"""

import time

from bench.figure import Effort, Figure, Goal, middle
from rookery.link.link import Link
from rookery.link.session.exchange import Exchange
from rookery.sim.endpoint import SimulatedEndpoint
from rookery.sim.network.network import Conditions
from rookery.sim.world import World
from rookery.wire.link.path import Path

BODY_SIZE = 128
_NODES = 20
_REACH = 2  # each endpoint links with so many on either side
_TURN_S = 0.02  # virtual
_HEAD = b"\x01"
_SEALS = 200


def measure(effort: Effort) -> list[Figure]:
    return [figure(kind, burst, effort) for kind in ("udp4", "tcp4") for burst in (1, 8)]


def figure(kind: str, burst: int, effort: Effort) -> Figure:
    town, rates, limits = Town(kind, burst), [], []
    for _ in range(effort.runs):
        rates.append(town.deliveries_per_s(effort.seconds))
        limits.append(town.crypto_per_s(effort.seconds))
    return Figure(
        what=f"frames of {BODY_SIZE} B over {kind}, {burst} at once",
        value=middle(rates),
        unit="deliveries/s",
        limit=middle(limits),
        against="seal and open alone",
        goal=Goal(value_min=50_000),
    )


class Town:
    """Endpoints that talk all the time."""

    def __init__(self, kind: str, burst: int) -> None:
        self.world = World(1, Conditions(delay_s=0.01))
        self._burst = burst
        nodes = [self.world.node(f"10.0.0.{1 + at}", kinds=(kind,)) for at in range(_NODES)]
        for node in nodes:
            node.accepts_strangers = True
            node.endpoint.frame_reader = _ignore
        for at, node in enumerate(nodes):
            for step in range(1, _REACH + 1):
                node.link(nodes[(at + step) % _NODES])
        self.world.run(5)
        self._nodes = {node.hashname: node for node in nodes}
        self._links = [(node, link) for node in nodes for link in node.endpoint.links.values()]

    def deliveries_per_s(self, seconds: float) -> float:
        before, began = self.world.deliveries, time.process_time()
        while (elapsed := time.process_time() - began) < seconds:
            self._turn()
        return (self.world.deliveries - before) / elapsed

    def crypto_per_s(self, seconds: float) -> float:
        """Seal and open packets of the same size."""
        pairs = [self._exchanges(node, link) for node, link in self._links]
        inner, done, began = bytes(BODY_SIZE + 3), 0, time.process_time()
        while (elapsed := time.process_time() - began) < seconds:
            for here, there in pairs:
                for _ in range(_SEALS):
                    there.open(here.seal(inner)[2:])
                done += _SEALS
        return done / elapsed

    def _exchanges(self, node: SimulatedEndpoint, link: Link) -> tuple[Exchange, Exchange]:
        back = self._nodes[link.hashname].endpoint.links[node.hashname]
        assert link.exchange is not None
        assert back.exchange is not None
        return link.exchange, back.exchange

    def _turn(self) -> None:
        world = self.world
        for number, (node, link) in enumerate(self._links):
            world.at(world.now + number * 1e-5, self._speak, node, link)
        world.run(_TURN_S)

    def _speak(self, node: SimulatedEndpoint, link: Link) -> None:
        body = bytes(BODY_SIZE)
        for _ in range(self._burst):
            link.send_frame(_HEAD, body)
        node.due()


def _ignore(link: Link, path: Path, head: bytes, body: bytes | memoryview, *_: object) -> None:
    pass
