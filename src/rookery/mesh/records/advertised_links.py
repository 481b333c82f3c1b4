"""Advertised links: which of our links go into our record when there are too many.

An edge counts only if both ends advertise it, so each end chooses some and then adds those that
the other end chose. Ours are, up to 24:

    18 cheapest           short routes; one that is advertised already counts as a fifth cheaper
    2 next to us by id    in a full mesh the circle of ids joins all members, whatever links cost
    4 by hash             far ones that our cheap neighbours do not have, so routes stay short

beyond them, up to 48 in all: the cheapest into every part of the realm that would otherwise be
out of our reach, then those by which others chose us, the cheapest first.
"""

from collections.abc import Collection, Mapping
from hashlib import blake2b

from rookery.wire.mesh.node_id import NodeId
from rookery.wire.mesh.record import LINKS_MAX, Record, RecordLink

CHOSEN_MAX = 24

_CHEAPEST = 18
_ADVERTISED_FACTOR = 0.8
_CONFIRMED_MIN = 2  # so many others should advertise a link to each peer


def advertised_links(
    own: NodeId,
    links: Mapping[NodeId, RecordLink],
    advertised: Collection[NodeId],
    records: Mapping[NodeId, Record],
) -> set[NodeId]:
    """The peers to advertise; `advertised` are those in our last record."""
    if len(links) <= CHOSEN_MAX:
        return set(links)

    def cost(node: NodeId) -> tuple[float, NodeId]:
        return links[node].cost_us * (_ADVERTISED_FACTOR if node in advertised else 1.0), node

    cheapest = sorted(links, key=cost)
    ring = sorted(links, key=lambda node: (node < own, node))
    by_hash = sorted(links, key=lambda node: blake2b(own + node, digest_size=8).digest())
    chosen = dict.fromkeys([*cheapest[:_CHEAPEST], ring[0], ring[-1]])
    others = [node for node in by_hash if node not in chosen]
    chosen |= dict.fromkeys(others[: CHOSEN_MAX - len(chosen)])
    parts = _parts(own, records)
    reached = {parts[node] for node in chosen if node in parts}
    for node in cheapest:
        if node in parts and parts[node] not in reached and len(chosen) < LINKS_MAX:
            reached.add(parts[node])
            chosen.setdefault(node)
    for node in cheapest:
        if len(chosen) < LINKS_MAX and _tells_of(records.get(node), own):
            chosen.setdefault(node)
    return set(chosen)


def only_links(
    own: NodeId,
    advertised: Collection[NodeId],
    held: Collection[NodeId],
    records: Mapping[NodeId, Record],
) -> set[NodeId]:
    """From `held`, one peer for each part of the realm that `advertised` does not reach."""
    parts = _parts(own, records)
    reached = {parts[node] for node in advertised if node in parts}
    first_links: dict[NodeId, NodeId] = {}
    for node in sorted(held):
        if node in parts and parts[node] not in reached:
            first_links.setdefault(parts[node], node)
    return set(first_links.values())


def is_hardly_confirmed(own: NodeId, peer: NodeId, records: Mapping[NodeId, Record]) -> bool:
    """True if a peer advertises us and others, and fewer than two of those advertise it."""
    record = records.get(peer)
    if record is None or not _tells_of(record, own):
        return False
    others = [link.peer for link in record.links if link.peer != own]
    confirmed = sum(_tells_of(records.get(other), peer) for other in others)
    return confirmed < min(_CONFIRMED_MIN, len(others))


def _tells_of(record: Record | None, node: NodeId) -> bool:
    return record is not None and any(link.peer == node for link in record.links)


def _parts(own: NodeId, records: Mapping[NodeId, Record]) -> dict[NodeId, NodeId]:
    """For each node with a record a name of the part it is in: nodes with routes to each other
    that do not lead through us."""
    peers = {
        node: {link.peer for link in record.links}
        for node, record in records.items()
        if node != own
    }
    parts: dict[NodeId, NodeId] = {}
    for start in peers:
        if start in parts:
            continue
        parts[start] = start
        edge = [start]
        while edge:
            node = edge.pop()
            for peer in peers[node]:
                if peer not in parts and node in peers.get(peer, ()):
                    parts[peer] = start
                    edge.append(peer)
    return parts
