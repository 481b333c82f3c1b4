"""Random towers, gates between them, and routes over them, all drawn from one seed."""

from random import Random

from rookery.sim.crow_world import CrowWorld, SimulatedTower
from rookery.sim.network.network import Conditions

FIRST_LINE_GATE = 40


class Topology:
    """One to five towers that forward, some pairs of which also have a serial line."""

    def __init__(self, seed: int, conditions: Conditions) -> None:
        self.random = Random(seed)
        self.world = CrowWorld(seed, conditions)
        self.stations = [self.put_up(index) for index in range(self.random.randint(1, 5))]
        self.lines: dict[int, list[tuple[int, SimulatedTower]]] = {}
        for index in range(len(self.stations) - 1):
            if self.random.random() < 0.6:
                self._lay_line(index, self.random.randrange(index + 1, len(self.stations)))

    def put_up(self, index: int) -> SimulatedTower:
        """A tower at its address; the second time it is a restart."""
        return self.world.station(f"10.0.0.{index + 1}", forwards=True)

    def route(self, source: int) -> tuple[bytes, SimulatedTower]:
        """An address from one tower to any, over up to four hops, and which tower it leads to."""
        address, here = b"", self.stations[source]
        for _ in range(self.random.randint(1, 4)):
            ways = self.lines.get(self.stations.index(here), [])
            if ways and self.random.random() < 0.5:
                gate, here = self.random.choice(ways)
                address += bytes([gate])
            else:
                here = self.random.choice(self.stations)
                address += here.hop
        return address, here

    def _lay_line(self, one: int, other: int) -> None:
        gate = FIRST_LINE_GATE + one
        self.world.line(self.stations[one], self.stations[other], gate)
        self.lines.setdefault(one, []).append((gate, self.stations[other]))
        self.lines.setdefault(other, []).append((gate, self.stations[one]))
