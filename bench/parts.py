"""The parts of the bench, in the order of bench/results.md.

Each is a module of this package with `measure(effort)`, which is imported only where it runs: in a
process of its own. So this module needs nothing but the standard library.
"""

from collections.abc import Collection
from typing import NamedTuple

_PATIENCE = 4  # times as long as expected
_LEAST_S = 300.0  # so that a busy machine is no failure


class Part(NamedTuple):
    name: str
    title: str
    expected_s: float  # of a full run, on two cores that nobody else uses
    module: str = ""

    @property
    def path(self) -> str:
        return self.module or f"bench.{self.name}"

    @property
    def limit_s(self) -> float:
        """When it is given up."""
        return max(_LEAST_S, _PATIENCE * self.expected_s)


PARTS = (
    Part("tunnel", "Tunnels", 75),
    Part("stream", "Streams", 75),
    Part("packets", "Packets", 75),
    Part("round_trip", "Round trips", 60),
    Part("handshakes", "Handshakes", 60),
    Part("renewal", "Renewal of keys", 45),
    Part("telehash_js", "Against telehash-js", 30),
    Part("crow", "Crow", 60),
    Part("crow_broker", "Crow broker", 90),
    Part("outbox", "Outbox", 60),
    Part("routes", "Routes", 15),
    Part("forwarding", "Forwarding", 60),
    Part("failover", "Failover", 360),
    Part("mesh", "Meshes", 240),
    Part("world", "Deterministic world", 45),
    Part("memory", "Memory", 60),
    Part("idle_node", "An idle node", 90),
    Part("spool", "Spool", 30),
    Part("hub_reports", "Hub", 30),
    Part("hub_fleet", "Hub with a fleet", 90),
    Part("rendezvous", "Rendezvous", 30),
    Part("web", "Pages", 60),
    Part("lake_landing", "Landing", 30),
    Part("lake", "Lake", 660),
)
NAMES = tuple(part.name for part in PARTS)
# No rows of the table; they run only when named.
OTHERS = ("profile", "fuzz", "flood", "mesh_large")


def unknown(names: Collection[str]) -> str:
    """What to say of names that there are not; nothing when all are known."""
    strange = sorted(set(names) - {*NAMES, *OTHERS})
    return f"no such part: {', '.join(strange)}; there are {', '.join(NAMES)}" if strange else ""
