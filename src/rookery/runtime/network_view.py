"""What a node has seen of the network, gathered for the net check."""

import socket
import time
from collections.abc import Iterator

from rookery.runtime.netcheck import NetFacts, Skew
from rookery.runtime.node import MeshNode
from rookery.runtime.snapshot import Peer, PeerState
from rookery.wire.certificate import Certificate
from rookery.wire.node_id import node_id
from rookery.wire.path import NetPath
from rookery.wire.statement import Statement

_LATE_S = 5.0  # a record may be so much later than planned


def net_facts(node: MeshNode, peers: tuple[Peer, ...]) -> NetFacts:
    core, endpoint = node.core, node.mesh.core
    observed = [link.observed for link in endpoint.links.values()]
    seen = tuple(path for path in observed if isinstance(path, NetPath))
    certificate = Certificate.parse(Statement.parse(core.own.certificate).content)
    return NetFacts(
        listening=tuple(path for path in endpoint.own_paths if isinstance(path, NetPath)),
        own_ips=frozenset(ip for ip in {path.ip for path in seen} if is_own(ip)),
        observed=seen,
        peers=peers,
        others=len(core.membership.members) - (core.own.node in core.membership.members),
        skews=tuple(_skews(node, peers)),
        unix_s=time.time(),
        certificate_begins_at=certificate.not_before_s,
        certificate_ends_at=certificate.not_after_s,
    )


def _skews(node: MeshNode, peers: tuple[Peer, ...]) -> Iterator[Skew]:
    """A record is made anew after half its lifetime: it is never older, nor from the future."""
    unix_s = time.time()
    for peer in peers:
        record = node.core.database.records.get(node_id(peer.node.hashname))
        if record is None or peer.state is not PeerState.UP:
            continue
        age_s = unix_s - record.made_s
        oldest_s = record.lifetime_s / 2 + _LATE_S
        yield Skew(peer.node, max(-age_s, 0.0) - max(age_s - oldest_s, 0.0))


def is_own(ip: str) -> bool:
    """Whether an interface of this machine has that address: only then can it be bound to."""
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((ip, 0))
    except OSError:
        return False
    return True
