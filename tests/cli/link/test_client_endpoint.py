"""The endpoint a client verb makes for itself fits the link it is for."""

import os

import pytest

from rookery.cli.link.client_endpoint import throwaway_csids, udp_addresses
from rookery.identity.identity import Identity
from rookery.wire.link.path import net_path
from rookery.wire.link.uri import LinkAddress

KEYS = dict(Identity.generate([0x3A], os.urandom).keys)


@pytest.mark.parametrize(
    ("ips", "bound"),
    [
        ([], ["127.0.0.1:0"]),
        (["127.0.0.1"], ["127.0.0.1:0"]),
        (["127.0.0.1", "192.0.2.1"], ["0.0.0.0:0"]),
        (["::1"], ["127.0.0.1:0", "[::1]:0"]),
        (["2001:db8::1"], ["0.0.0.0:0", "[::]:0"]),
    ],
)
def test_other_interfaces_are_used_only_for_those_who_are_there(
    ips: list[str], bound: list[str]
) -> None:
    paths = tuple(net_path("udp", ip, 42424) for ip in ips)
    assert udp_addresses([LinkAddress(keys=KEYS, paths=paths)]) == bound


def test_a_named_host_may_be_anywhere() -> None:
    assert udp_addresses([LinkAddress(keys=KEYS, host="example.org")]) == ["0.0.0.0:0", "[::]:0"]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ([], (0x40, 0x3A)),
        ([0x3A], (0x40, 0x3A)),
        ([0x2A], (0x2A,)),
        ([0x2A, 0x40], (0x40, 0x3A)),
        ([0x99], (0x40, 0x3A)),
    ],
)
def test_a_peer_without_the_usual_cipher_sets_gets_its_own(
    theirs: list[int], ours: tuple[int, ...]
) -> None:
    """T1: keys for one call, also for a peer that knows only 2a."""
    assert throwaway_csids(dict.fromkeys(theirs, b"key")) == ours
