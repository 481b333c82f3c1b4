"""Net check: what works from here, judged by what the node has seen, with advice for the rest.

Nothing is sent for it: a running node probes its paths all the time anyway.
"""

import socket
import time
from collections.abc import Callable, Iterable, Iterator
from ipaddress import ip_address

import msgspec

from rookery.runtime.node.members import NodeName
from rookery.runtime.node.node import MeshNode
from rookery.runtime.node.snapshot import (
    NetCheckItem,
    NetCheckResult,
    PeerPathRow,
    PeerPathState,
    PeerRow,
    PeerState,
)
from rookery.wire.link.path import NetPath
from rookery.wire.mesh.certificate import Certificate
from rookery.wire.mesh.node_id import node_id
from rookery.wire.mesh.statement import Statement

SKEW_S_WARNED = 5.0
SKEW_S_MAX = 300.0  # records from further ahead are refused
CERTIFICATE_S_WARNED = 14 * 86400.0

_SHOWN_MAX = 3


class ClockSkew(msgspec.Struct, frozen=True):
    """How far a peer's clock is ahead of ours, at least; negative when it is behind."""

    peer: NodeName
    ahead_s: float


class NetFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a node has seen of the network."""

    listening: tuple[NetPath, ...]
    own_ips: frozenset[str]  # of this machine's interfaces
    observed: tuple[NetPath, ...]  # our address, as peers saw it
    peers: tuple[PeerRow, ...]
    others: int  # members other than this node
    skews: tuple[ClockSkew, ...]
    unix_s: float
    certificate_begins_at: int
    certificate_ends_at: int


def netcheck(facts: NetFacts) -> tuple[NetCheckItem, ...]:
    """Every check, in the order in which to mend what is wrong."""
    checks: tuple[Callable[[NetFacts], NetCheckItem], ...] = (
        _certificate,
        _clock,
        _tcp_listening,
        _udp_listening,
        _address,
        _direct_peers,
        _udp_companion,
    )
    return tuple(check(facts) for check in checks)


def _item(check: str, finding: NetCheckResult, found: str, advice: str = "") -> NetCheckItem:
    return NetCheckItem(check=check, finding=finding, found=found, advice=advice)


def _certificate(facts: NetFacts) -> NetCheckItem:
    left_s = facts.certificate_ends_at - facts.unix_s
    days = f"{abs(left_s) / 86400:.1f} days"
    if facts.unix_s < facts.certificate_begins_at:
        advice = "set this machine's clock, or ask for another certificate"
        return _item("certificate", NetCheckResult.FAILED, "not valid yet", advice)
    if left_s <= 0:
        advice = "ask the realm's owner for a new invitation, then: rookery realm join"
        return _item("certificate", NetCheckResult.FAILED, f"ended {days} ago", advice)
    if left_s < CERTIFICATE_S_WARNED:
        advice = "have it renewed before it ends"
        return _item("certificate", NetCheckResult.WARNING, f"ends in {days}", advice)
    return _item("certificate", NetCheckResult.OK, f"valid for {days}")


def _clock(facts: NetFacts) -> NetCheckItem:
    if not facts.skews:
        return _item("clock", NetCheckResult.UNKNOWN, "no peer to compare it with")
    worst = max(facts.skews, key=lambda skew: abs(skew.ahead_s))
    off = [skew for skew in facts.skews if abs(skew.ahead_s) >= SKEW_S_WARNED]
    if not off:
        return _item("clock", NetCheckResult.OK, f"agrees with {_count(len(facts.skews), 'peer')}")
    direction = "ahead" if worst.ahead_s > 0 else "behind"
    found = f"{worst.peer} is {abs(worst.ahead_s):.0f} s or more {direction}"
    if 2 * len(off) > len(facts.skews):
        advice = "set this machine's clock: most peers differ from it"
        finding = (
            NetCheckResult.FAILED if abs(worst.ahead_s) >= SKEW_S_MAX else NetCheckResult.WARNING
        )
        return _item("clock", finding, found, advice)
    return _item(
        "clock", NetCheckResult.WARNING, found, f"set the clock of {_few(s.peer for s in off)}"
    )


def _tcp_listening(facts: NetFacts) -> NetCheckItem:
    paths = _of(facts.listening, "tcp")
    if not paths:
        advice = "start the node with --listen IP:PORT, so that others can dial it"
        return _item("tcp-listening", NetCheckResult.FAILED, "nowhere", advice)
    if _is_near(paths) and not _all_peers_near(facts.peers):
        advice = "listen on an address that others reach, as in --listen 0.0.0.0:7001"
        found = f"{_few(paths)}, which only this machine reaches"
        return _item("tcp-listening", NetCheckResult.WARNING, found, advice)
    return _item("tcp-listening", NetCheckResult.OK, _few(paths))


def _udp_listening(facts: NetFacts) -> NetCheckItem:
    paths = _of(facts.listening, "udp")
    if paths:
        return _item("udp-listening", NetCheckResult.OK, _few(paths))
    advice = "free the UDP port of the same number as --listen; until then datagrams take TCP"
    return _item("udp-listening", NetCheckResult.WARNING, "nowhere", advice)


def _address(facts: NetFacts) -> NetCheckItem:
    """Is there a NAT? Peers tell where they see us come from."""
    ips = sorted({path.ip for path in facts.observed})
    translated = [ip for ip in ips if ip not in facts.own_ips]
    if not ips:
        return _item("address", NetCheckResult.UNKNOWN, "no peer has said where it sees us")
    if not translated:
        return _item("address", NetCheckResult.OK, f"seen as {_few(ips)}, our own: no NAT")
    ports = sorted({path.port for path in facts.listening})
    forward = (
        f"forward TCP and UDP port {_few(ports)} to this machine, or keep one peer that all reach"
    )
    udp_ports = {path.port for path in _of(facts.observed, "udp")}
    if len(translated) > 1 or len(udp_ports) > 1:
        found = f"seen as {_few(translated)} by different peers: a NAT that changes addresses"
        return _item("address", NetCheckResult.WARNING, found, forward)
    return _item(
        "address", NetCheckResult.WARNING, f"seen as {translated[0]}: behind a NAT", forward
    )


def _direct_peers(facts: NetFacts) -> NetCheckItem:
    up = [peer for peer in facts.peers if peer.state is PeerState.UP and _up_paths(peer, "tcp")]
    if not facts.others:
        advice = "invite others with: rookery realm invite"
        return _item("direct-peers", NetCheckResult.UNKNOWN, "nobody else is in the realm", advice)
    found = f"{len(up)} of {_count(facts.others, 'other member')}"
    if not up:
        errors = {peer.last_error for peer in facts.peers if peer.last_error}
        why = f" ({_few(sorted(errors))})" if errors else ""
        advice = "give --peer the link of one that is running, and let TCP out to it"
        return _item("direct-peers", NetCheckResult.FAILED, found + why, advice)
    if len(up) < facts.others:
        names = {peer.node.hashname for peer in up}
        lost = [peer for peer in facts.peers if peer.node.hashname not in names]
        found += f"; not {_few(_with_error(peer) for peer in lost)}" if lost else ""
        advice = "the rest are reached over routes; see: rookery routes"
        return _item("direct-peers", NetCheckResult.OK, found, advice)
    return _item("direct-peers", NetCheckResult.OK, found)


def _udp_companion(facts: NetFacts) -> NetCheckItem:
    linked = [peer for peer in facts.peers if peer.state is PeerState.UP and _up_paths(peer, "tcp")]
    if not linked:
        return _item("udp-beside", NetCheckResult.UNKNOWN, "no peer to try it with")
    up = [peer for peer in linked if _up_paths(peer, "udp")]
    found = f"up with {len(up)} of {_count(len(linked), 'peer')}"
    if len(up) == len(linked):
        return _item("udp-beside", NetCheckResult.OK, found)
    names = {peer.node.hashname for peer in up}
    without = _few(peer.node for peer in linked if peer.node.hashname not in names)
    advice = f"let UDP through to the same address and port as TCP: {without}"
    return _item("udp-beside", NetCheckResult.WARNING, found, advice)


def _up_paths(peer: PeerRow, carrier: str) -> list[PeerPathRow]:
    return [
        path
        for path in peer.paths
        if path.state is PeerPathState.UP and path.transport.startswith(carrier)
    ]


def _of(paths: Iterable[NetPath], carrier: str) -> list[NetPath]:
    return [path for path in paths if path.kind.startswith(carrier)]


def _is_near(paths: Iterable[NetPath]) -> bool:
    return all(ip_address(path.ip).is_loopback for path in paths)


def _all_peers_near(peers: Iterable[PeerRow]) -> bool:
    """Whether every peer is on this machine, as in a test or a demonstration."""
    paths = [path for peer in peers for path in _up_paths(peer, "tcp")]
    return bool(paths) and all(path.address.startswith(("127.", "[::1]")) for path in paths)


def _with_error(peer: PeerRow) -> str:
    return f"{peer.node} ({peer.last_error})" if peer.last_error else str(peer.node)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _few(things: Iterable[object]) -> str:
    names = [str(thing) for thing in things]
    more = len(names) - _SHOWN_MAX
    shown = ", ".join(names[:_SHOWN_MAX])
    return f"{shown} and {more} more" if more > 0 else shown


_LATE_S = 5.0  # a record may be so much later than planned


def net_facts(node: MeshNode, peers: tuple[PeerRow, ...]) -> NetFacts:
    core, endpoint = node.core, node.endpoint.core
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


def _skews(node: MeshNode, peers: tuple[PeerRow, ...]) -> Iterator[ClockSkew]:
    """A record is made anew after half its lifetime: it is never older, nor from the future."""
    unix_s = time.time()
    for peer in peers:
        record = node.core.database.records.get(node_id(peer.node.hashname))
        if record is None or peer.state is not PeerState.UP:
            continue
        age_s = unix_s - record.made_s
        oldest_s = record.lifetime_s / 2 + _LATE_S
        yield ClockSkew(peer.node, max(-age_s, 0.0) - max(age_s - oldest_s, 0.0))


def is_own(ip: str) -> bool:
    """Whether an interface of this machine has that address: only then can it be bound to."""
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((ip, 0))
    except OSError:
        return False
    return True
