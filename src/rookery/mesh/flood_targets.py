"""Flood targets: the neighbours that news is passed on to, six and those who have few others.

Three are the cheapest: news travels fast. Two are next to us, above and below, in the circle of
all our neighbours' ids: where everybody has links to everybody, that alone reaches everybody,
while with a choice by chance one node in a few hundred would be chosen by nobody. The last one is
chosen by hash: a shortcut, which another node does not choose alike.

Whoever has few links may be chosen by none of its neighbours, a leaf of a star most of all, and
would hear of a revocation only by the next comparison; so those are always told.
"""

from collections.abc import Collection, Mapping
from hashlib import blake2b

from rookery.wire.node_id import NodeId

TARGETS_MAX = 6
CHEAPEST = 3
FEW = 6  # links


def flood_targets(
    own: NodeId, costs: Mapping[NodeId, int], lonely: Collection[NodeId] = ()
) -> tuple[NodeId, ...]:
    """`lonely`: those of our neighbours that have no more than `FEW` links."""
    if len(costs) <= TARGETS_MAX:
        return tuple(costs)
    ring = sorted(costs)
    above = next((node for node in ring if node > own), ring[0])
    below = next((node for node in reversed(ring) if node < own), ring[-1])
    cheapest = sorted(costs, key=lambda node: (costs[node], node))
    by_hash = sorted(costs, key=lambda node: blake2b(own + node, digest_size=8).digest())
    chosen = tuple(dict.fromkeys([*cheapest[:CHEAPEST], above, below]))
    others = [node for node in by_hash if node not in chosen]
    chosen += tuple(others[: TARGETS_MAX - len(chosen)])
    return chosen + tuple(node for node in costs if node in lonely and node not in chosen)
