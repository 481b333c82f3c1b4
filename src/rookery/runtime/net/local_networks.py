"""The networks that this machine is part of, public ones too: of its addresses and their masks."""

import socket
import time
from collections.abc import Callable, Sequence
from ipaddress import ip_address, ip_interface

from rookery.link.channels.sock_rules import IpNetwork

KEPT_S = 5.0  # addresses come and go, and datagrams ask about each

_LAN_BITS = 64  # of an IPv6 address, which all of a LAN share

LocalNetworks = Callable[[], Sequence[IpNetwork]]


class _LocalNetworks:
    """Looked up on demand, and cached for a while."""

    def __init__(self) -> None:
        self._found: tuple[IpNetwork, ...] = ()
        self._until = float("-inf")

    def __call__(self) -> Sequence[IpNetwork]:
        now = time.monotonic()
        if now >= self._until:
            self._found, self._until = _look(), now + KEPT_S
        return self._found


local_networks: LocalNetworks = _LocalNetworks()


def _look() -> tuple[IpNetwork, ...]:
    import psutil  # on demand: an idle node does not need it in memory

    addresses = [each for listed in psutil.net_if_addrs().values() for each in listed]
    return tuple(
        network(each.address, each.netmask)
        for each in addresses
        if each.family in (socket.AF_INET, socket.AF_INET6)
    )


def network(address: str, netmask: str | None) -> IpNetwork:
    """An address without a mask, or with one that covers everything, stands for itself alone.

    Of IPv6 at least its /64: DHCPv6 gives addresses alone, though others of it are on the same LAN.
    """
    one = ip_interface(address.partition("%")[0])
    ones = (int(ip_address(netmask)).bit_count() if netmask else 0) or one.max_prefixlen
    if one.version == 6 and not one.is_loopback:
        ones = min(ones, _LAN_BITS)
    return ip_interface(f"{one.ip}/{ones}").network
