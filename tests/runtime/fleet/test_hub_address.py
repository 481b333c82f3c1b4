"""A hub's link, as routers and servers use it."""

import msgspec
import pytest

from rookery.errors import UsageError
from rookery.runtime.fleet.hub_address import HubAddress, HubSocketAddress
from rookery.wire.link.path import net_path
from rookery.wire.link.uri import LinkAddress
from tests.fleet.identities import ACCEPTOR, DIALLER

UDP = net_path("udp", "192.0.2.1", 7001)
TCP = net_path("tcp", "192.0.2.1", 7002)
LINK = LinkAddress(ACCEPTOR.hashname, dict(ACCEPTOR.keys), (UDP, TCP))


async def test_ports_may_differ_by_carrier() -> None:
    hub = HubAddress(LINK)
    assert await hub.udp() == [HubSocketAddress("192.0.2.1", 7001)]
    assert await hub.tcp() == [HubSocketAddress("192.0.2.1", 7002)]
    assert hub.hashname == ACCEPTOR.hashname
    assert hub.stream_keys == ACCEPTOR.keys
    assert hub.insisted == frozenset()


def test_a_link_that_names_cipher_set_40_is_taken_at_its_word() -> None:
    hub = HubAddress(LinkAddress.parse(msgspec.structs.replace(LINK, stream=0x40).uri()))
    assert hub.stream_keys == {0x40: ACCEPTOR.keys[0x40]}
    assert hub.insisted == {hub.hashname}


async def test_a_named_host_is_looked_up_each_time() -> None:
    named = HubAddress(msgspec.structs.replace(LINK, paths=(), host="localhost", port=7003))
    assert HubSocketAddress("127.0.0.1", 7003) in await named.udp()
    assert HubSocketAddress("127.0.0.1", 7003) in await named.tcp()


async def test_a_name_that_is_unknown_leaves_the_addresses() -> None:
    both = HubAddress(msgspec.structs.replace(LINK, host="no-such-host.invalid"))
    assert await both.udp() == [HubSocketAddress("192.0.2.1", 7001)]


@pytest.mark.parametrize(
    "link",
    [
        LinkAddress(ACCEPTOR.hashname),
        msgspec.structs.replace(LINK, keys={0x40: ACCEPTOR.keys[0x40]}),
        msgspec.structs.replace(LINK, hashname=DIALLER.hashname),
        msgspec.structs.replace(LINK, paths=(UDP,)),
        msgspec.structs.replace(LINK, paths=(TCP,)),
    ],
)
def test_a_link_that_will_not_do_is_refused(link: LinkAddress) -> None:
    with pytest.raises(UsageError):
        HubAddress(link)
