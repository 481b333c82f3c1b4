"""Sources of work: an IPv6 user has a whole /64."""

import pytest

from rookery.link.source_network import source_network


@pytest.mark.parametrize(
    ("ip", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("a:b", "a:b"),
        ("", ""),
    ],
)
def test_the_source_of_an_address(ip: str, network: str) -> None:
    assert source_network(ip) == network
