"""The device's MAC address: that of its first real interface."""

import socket
from contextlib import suppress
from pathlib import Path

import psutil

from rookery.errors import DecodeError, UsageError
from rookery.wire.fleet.mac import parse_mac

_SYSFS_NET = Path("/sys/class/net")
_LOCAL_BIT = 0x02  # made up by software rather than burnt into a card


def own_mac() -> bytes:
    """Of a card rather than of something made by software, with an address rather than without."""
    found = []
    for name, addresses in psutil.net_if_addrs().items():
        families = {address.family for address in addresses}
        is_bare = families.isdisjoint((socket.AF_INET, socket.AF_INET6))
        for address in addresses:
            if address.family == psutil.AF_LINK:
                with suppress(DecodeError):  # of the loopback, or of a tunnel
                    mac = parse_mac(address.address)
                    found.append((_is_virtual(name), is_bare, mac[0] & _LOCAL_BIT, name, mac))
    if not found:
        raise UsageError("no interface of this machine has a MAC address; give one by --mac")
    return min(found)[-1]


def _is_virtual(name: str) -> bool:
    return _SYSFS_NET.is_dir() and not (_SYSFS_NET / name / "device").exists()
