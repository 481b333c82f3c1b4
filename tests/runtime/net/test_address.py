"""Addresses as the socket layer wants them."""

import socket

import pytest

from rookery.runtime.net.address import advertised_ip, datagram_address, has_address

LOOPBACK_INDEX = socket.if_nameindex()[0][0]
LOOPBACK_NAME = socket.if_nameindex()[0][1]


@pytest.mark.parametrize(
    ("ip", "port", "address"),
    [
        ("192.0.2.1", 42424, ("192.0.2.1", 42424)),
        ("2001:db8::1", 42424, ("2001:db8::1", 42424, 0, 0)),
        ("fe80::1", 42424, ("fe80::1", 42424, 0, 7)),
        ("fe80::1%3", 42424, ("fe80::1", 42424, 0, 3)),
        (f"fe80::1%{LOOPBACK_NAME}", 42424, ("fe80::1", 42424, 0, LOOPBACK_INDEX)),
        ("fe80::1%no-such-zone", 42424, None),
        ("example.org", 42424, None),
        ("", 42424, None),
        ("192.0.2.1", 0, None),
        ("192.0.2.1", 0x10000, None),
    ],
)
def test_where_a_datagram_goes(ip: str, port: int, address: tuple[str, int] | None) -> None:
    """Zone 7 is that of the gate, for link-local addresses that name none."""
    assert datagram_address(ip, port, scope=7) == address


@pytest.mark.parametrize("wildcard", ["0.0.0.0", "::"])
def test_a_wildcard_is_never_advertised(wildcard: str) -> None:
    assert advertised_ip(wildcard) != wildcard
    assert (":" in advertised_ip(wildcard)) == (":" in wildcard)


def test_a_machine_has_its_loopback_address_but_not_one_for_documentation() -> None:
    assert has_address(("127.0.0.1", 7))
    assert not has_address(("192.0.2.1", 7))
    assert not has_address(("2001:db8::1", 7, 0, 0))


def test_any_other_address_is_advertised_as_it_is() -> None:
    assert advertised_ip("192.0.2.1") == "192.0.2.1"
