"""Told paths: which of the addresses that a peer lists may be tried.

Trying one sends packets of ours wherever the peer likes. So nobody but a trusted peer is listened
to, and even such a peer cannot make us ask for a URL or knock at an address that means something
else here than it does there: loopback and link-local ones count only where the peer itself is on
this machine or this cable.
"""

from collections.abc import Iterable
from enum import Enum
from ipaddress import IPv6Address, ip_address

from rookery.wire.path import NetPath, Path, PeerPath

TRIES_PER_S = 0.5  # new addresses of one peer,
TRIES_BURST = 16.0  # and so many at once


class Scope(Enum):
    """Where an address has a meaning."""

    NETWORK = "network"
    MACHINE = "machine"
    CABLE = "cable"
    NOWHERE = "nowhere"  # for many at once, or for nobody


def may_be_tried(path: Path, used: Iterable[Path]) -> bool:
    """Whether a peer's word is enough; `used` are paths over which it has proved itself."""
    match path:
        case PeerPath():
            return True
        case NetPath(kind=kind, ip=ip) if not kind.startswith("ws"):
            scope = scope_of(ip)
        case _:  # a URL, or an end of a connection at which nobody listens
            return False
    if scope in (Scope.MACHINE, Scope.CABLE):
        return any(isinstance(each, NetPath) and scope_of(each.ip) is scope for each in used)
    return scope is Scope.NETWORK


def scope_of(ip: str) -> Scope:
    address = ip_address(ip)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if address.is_multicast or address.is_unspecified:
        return Scope.NOWHERE
    if address.is_loopback:
        return Scope.MACHINE
    if address.is_link_local:
        return Scope.CABLE
    # The rest of 0.0.0.0/8, class E and the broadcast address; IPv6 has no such range.
    if address.version == 4 and (int(address) >> 24 == 0 or int(address) >> 28 == 15):
        return Scope.NOWHERE
    return Scope.NETWORK
