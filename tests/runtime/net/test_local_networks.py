"""The networks of this machine, as its interfaces have them."""

from ipaddress import ip_address, ip_network

import pytest

from rookery.runtime.net.local_networks import local_networks, network


@pytest.mark.parametrize(
    ("address", "netmask", "expected"),
    [
        ("203.0.113.7", "255.255.255.0", "203.0.113.0/24"),
        ("2001:db8:1::9", "ffff:ffff:ffff:ffff::", "2001:db8:1::/64"),
        ("fe80::1%eth0", "ffff:ffff:ffff:ffff::", "fe80::/64"),
        ("203.0.113.7", None, "203.0.113.7/32"),
        ("203.0.113.7", "0.0.0.0", "203.0.113.7/32"),  # it would be everywhere
        ("2001:db8::1", "", "2001:db8::/64"),
        ("2001:db8::1", "ffff:" * 7 + "ffff", "2001:db8::/64"),  # as DHCPv6 gives it
    ],
)
def test_a_mask_makes_a_network(address: str, netmask: str | None, expected: str) -> None:
    assert network(address, netmask) == ip_network(expected)


def test_loopback_is_among_them_and_they_are_looked_up_now_and_then() -> None:
    assert any(ip_address("127.0.0.1") in each for each in local_networks())
    assert local_networks() is local_networks()
