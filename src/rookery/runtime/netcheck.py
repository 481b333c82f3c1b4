"""Net check: what works from here, judged by what the node has seen, with advice for the rest.

Nothing is sent for it: a running mesh tries everything all the time, so the answers are there.
"""

from collections.abc import Callable, Iterable
from ipaddress import ip_address

import msgspec

from rookery.runtime.snapshot import Finding, NetCheckItem, Peer, PeerState, PeerWay, WayState, Who
from rookery.wire.path import NetPath

SKEW_S_WARNED = 5.0
SKEW_S_MAX = 300.0  # records from further ahead are refused
CERTIFICATE_S_WARNED = 14 * 86400.0

_SHOWN_MAX = 3


class Skew(msgspec.Struct, frozen=True):
    """How far a peer's clock is ahead of ours, at least; negative when it is behind."""

    peer: Who
    ahead_s: float


class NetFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a node has seen of the network."""

    listening: tuple[NetPath, ...]
    own_ips: frozenset[str]  # of this machine's interfaces
    observed: tuple[NetPath, ...]  # our address, as peers saw it
    peers: tuple[Peer, ...]
    others: int  # members beside us
    skews: tuple[Skew, ...]
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
        _udp_beside,
    )
    return tuple(check(facts) for check in checks)


def _item(check: str, finding: Finding, found: str, advice: str = "") -> NetCheckItem:
    return NetCheckItem(check=check, finding=finding, found=found, advice=advice)


def _certificate(facts: NetFacts) -> NetCheckItem:
    left_s = facts.certificate_ends_at - facts.unix_s
    days = f"{abs(left_s) / 86400:.1f} days"
    if facts.unix_s < facts.certificate_begins_at:
        advice = "set this machine's clock, or ask for another certificate"
        return _item("certificate", Finding.FAILED, "not valid yet", advice)
    if left_s <= 0:
        advice = "ask the realm's owner for a new invitation, then: rookery realm join"
        return _item("certificate", Finding.FAILED, f"ended {days} ago", advice)
    if left_s < CERTIFICATE_S_WARNED:
        advice = "have it renewed before it ends"
        return _item("certificate", Finding.WARNING, f"ends in {days}", advice)
    return _item("certificate", Finding.OK, f"valid for {days}")


def _clock(facts: NetFacts) -> NetCheckItem:
    if not facts.skews:
        return _item("clock", Finding.UNKNOWN, "no peer to compare it with")
    worst = max(facts.skews, key=lambda skew: abs(skew.ahead_s))
    off = [skew for skew in facts.skews if abs(skew.ahead_s) >= SKEW_S_WARNED]
    if not off:
        return _item("clock", Finding.OK, f"agrees with {_count(len(facts.skews), 'peer')}")
    direction = "ahead" if worst.ahead_s > 0 else "behind"
    found = f"{worst.peer} is {abs(worst.ahead_s):.0f} s or more {direction}"
    if 2 * len(off) > len(facts.skews):
        advice = "set this machine's clock: most peers differ from it"
        finding = Finding.FAILED if abs(worst.ahead_s) >= SKEW_S_MAX else Finding.WARNING
        return _item("clock", finding, found, advice)
    return _item("clock", Finding.WARNING, found, f"set the clock of {_few(s.peer for s in off)}")


def _tcp_listening(facts: NetFacts) -> NetCheckItem:
    paths = _of(facts.listening, "tcp")
    if not paths:
        advice = "start the node with --listen IP:PORT, so that others can dial it"
        return _item("tcp-listening", Finding.FAILED, "nowhere", advice)
    if _is_near(paths) and not _all_peers_near(facts.peers):
        advice = "listen on an address that others reach, as in --listen 0.0.0.0:7001"
        found = f"{_few(paths)}, which only this machine reaches"
        return _item("tcp-listening", Finding.WARNING, found, advice)
    return _item("tcp-listening", Finding.OK, _few(paths))


def _udp_listening(facts: NetFacts) -> NetCheckItem:
    paths = _of(facts.listening, "udp")
    if paths:
        return _item("udp-listening", Finding.OK, _few(paths))
    advice = "free the UDP port of the same number as --listen; until then datagrams take TCP"
    return _item("udp-listening", Finding.WARNING, "nowhere", advice)


def _address(facts: NetFacts) -> NetCheckItem:
    """Is there a NAT? Peers tell where they see us come from."""
    ips = sorted({path.ip for path in facts.observed})
    translated = [ip for ip in ips if ip not in facts.own_ips]
    if not ips:
        return _item("address", Finding.UNKNOWN, "no peer has said where it sees us")
    if not translated:
        return _item("address", Finding.OK, f"seen as {_few(ips)}, our own: no NAT")
    ports = sorted({path.port for path in facts.listening})
    forward = (
        f"forward TCP and UDP port {_few(ports)} to this machine, or keep one peer that all reach"
    )
    udp_ports = {path.port for path in _of(facts.observed, "udp")}
    if len(translated) > 1 or len(udp_ports) > 1:
        found = f"seen as {_few(translated)} by different peers: a NAT that changes addresses"
        return _item("address", Finding.WARNING, found, forward)
    return _item("address", Finding.WARNING, f"seen as {translated[0]}: behind a NAT", forward)


def _direct_peers(facts: NetFacts) -> NetCheckItem:
    up = [peer for peer in facts.peers if peer.state is PeerState.UP and _ways(peer, "tcp")]
    if not facts.others:
        advice = "invite others with: rookery realm invite"
        return _item("direct-peers", Finding.UNKNOWN, "nobody else is in the realm", advice)
    found = f"{len(up)} of {_count(facts.others, 'other member')}"
    if not up:
        errors = {peer.last_error for peer in facts.peers if peer.last_error}
        why = f" ({_few(sorted(errors))})" if errors else ""
        advice = "give --peer the link of one that is running, and let TCP out to it"
        return _item("direct-peers", Finding.FAILED, found + why, advice)
    if len(up) < facts.others:
        names = {peer.node.hashname for peer in up}
        lost = [peer for peer in facts.peers if peer.node.hashname not in names]
        found += f"; not {_few(_with_error(peer) for peer in lost)}" if lost else ""
        advice = "the rest are reached over routes; see: rookery routes"
        return _item("direct-peers", Finding.OK, found, advice)
    return _item("direct-peers", Finding.OK, found)


def _udp_beside(facts: NetFacts) -> NetCheckItem:
    linked = [peer for peer in facts.peers if peer.state is PeerState.UP and _ways(peer, "tcp")]
    if not linked:
        return _item("udp-beside", Finding.UNKNOWN, "no peer to try it with")
    up = [peer for peer in linked if _ways(peer, "udp")]
    found = f"up with {len(up)} of {_count(len(linked), 'peer')}"
    if len(up) == len(linked):
        return _item("udp-beside", Finding.OK, found)
    names = {peer.node.hashname for peer in up}
    without = _few(peer.node for peer in linked if peer.node.hashname not in names)
    advice = f"let UDP through to the same address and port as TCP: {without}"
    return _item("udp-beside", Finding.WARNING, found, advice)


def _ways(peer: Peer, carrier: str) -> list[PeerWay]:
    return [
        way for way in peer.ways if way.state is WayState.UP and way.transport.startswith(carrier)
    ]


def _of(paths: Iterable[NetPath], carrier: str) -> list[NetPath]:
    return [path for path in paths if path.kind.startswith(carrier)]


def _is_near(paths: Iterable[NetPath]) -> bool:
    return all(ip_address(path.ip).is_loopback for path in paths)


def _all_peers_near(peers: Iterable[Peer]) -> bool:
    """Whether every peer is on this machine, as in a test or a demonstration."""
    ways = [way for peer in peers for way in _ways(peer, "tcp")]
    return bool(ways) and all(way.address.startswith(("127.", "[::1]")) for way in ways)


def _with_error(peer: Peer) -> str:
    return f"{peer.node} ({peer.last_error})" if peer.last_error else str(peer.node)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _few(things: Iterable[object]) -> str:
    names = [str(thing) for thing in things]
    more = len(names) - _SHOWN_MAX
    shown = ", ".join(names[:_SHOWN_MAX])
    return f"{shown} and {more} more" if more > 0 else shown
