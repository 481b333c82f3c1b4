"""Advertised paths: addresses that peers announce to each other by the `path` channel.

Trying an address sends packets of ours wherever the peer likes. So addresses are exchanged with
trusted peers only, and even those cannot make us request a URL or try an address that means
something else here than it does there: loopback and link-local addresses count only if the peer
itself is on this machine or this network segment.
"""

from collections.abc import Iterable, Iterator
from enum import Enum
from ipaddress import IPv6Address, ip_address
from typing import Protocol

from rookery.link.channels import path as path_channel
from rookery.link.link import Link
from rookery.link.policies import TrustPolicy
from rookery.link.reliable import ChannelMessage
from rookery.link.token_bucket import TokenBuckets
from rookery.wire.link.path import NetPath, Path, PeerPath, is_local
from rookery.wire.link.transport import DIALLED_KINDS

TRIES_PER_S = 0.5  # new addresses of one peer,
TRIES_BURST = 16.0  # and so many at once


class AddressScope(Enum):
    """Where an address has a meaning."""

    NETWORK = "network"
    MACHINE = "machine"
    CABLE = "cable"
    NOWHERE = "nowhere"  # multicast, unspecified, reserved


class AdvertisedPathsOwner(Protocol):
    """What advertised paths need of the endpoint."""

    own_paths: tuple[Path, ...]
    trusts: TrustPolicy

    @property
    def hashname(self) -> str: ...


class AdvertisedPaths:
    """Both sides of `path`."""

    __slots__ = ("_owner", "_tries")

    def __init__(self, owner: AdvertisedPathsOwner) -> None:
        self._owner = owner
        self._tries = TokenBuckets(TRIES_PER_S, TRIES_BURST)  # by hashname

    def send(self, link: Link) -> None:
        """Advertise our addresses to a trusted peer; its answer is our address as it sees it."""
        if self._owner.trusts(link.hashname):
            own = (path for path in self._owner.own_paths if not is_local(path))
            link.say("path", path_channel.opening(own))

    def opened(self, link: Link, channel_id: int, message: ChannelMessage, now: float) -> None:
        """Try what a trusted peer lists, and answer over every path that works."""
        advertised = path_channel.parse_opening(message.head)
        if self._owner.trusts(link.hashname):
            for path in self._chosen(link, advertised, now):
                link.add_path(path, now, configured=False)
        for state in list(link.paths):
            if state.is_usable and not is_local(state.path):
                link.transmit_over(state.path, path_channel.answer(channel_id, state.path))

    def answered(self, link: Link, message: ChannelMessage) -> None:
        """An answer tells our address as the peer sees it; anything else is ignored."""
        observed = path_channel.parse_answer(message.head)
        if observed is not None:
            link.observed = observed

    def _chosen(self, link: Link, advertised: Iterable[Path], now: float) -> Iterator[Path]:
        used = [state.path for state in link.paths if state.is_usable]
        for path in advertised:
            if path in link.paths or path == PeerPath(self._owner.hashname):
                continue
            if may_be_tried(path, used) and self._tries.take(link.hashname, now):
                yield path


def may_be_tried(path: Path, used: Iterable[Path]) -> bool:
    """Whether an advertised path may be tried; `used` are the proven paths of that peer."""
    match path:
        case PeerPath():
            return True
        case NetPath(kind=kind, ip=ip) if kind in DIALLED_KINDS:
            scope = scope_of(ip)
        case _:  # a URL, a socket's file, or an end of a connection, where there is no listener
            return False
    if scope in (AddressScope.MACHINE, AddressScope.CABLE):
        return any(isinstance(each, NetPath) and scope_of(each.ip) is scope for each in used)
    return scope is AddressScope.NETWORK


def scope_of(ip: str) -> AddressScope:
    address = ip_address(ip)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if address.is_multicast or address.is_unspecified:
        return AddressScope.NOWHERE
    if address.is_loopback:
        return AddressScope.MACHINE
    if address.is_link_local:
        return AddressScope.CABLE
    # The rest of 0.0.0.0/8, class E and the broadcast address; IPv6 has no such range.
    if address.version == 4 and (int(address) >> 24 == 0 or int(address) >> 28 == 15):
        return AddressScope.NOWHERE
    return AddressScope.NETWORK
