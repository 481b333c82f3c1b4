"""`net.*`: what the device sees of its network."""

import pytest

from rookery.agent.methods import net
from rookery.errors import DeniedError, UnreachableError, UsageError


async def test_the_loopback_is_an_interface() -> None:
    loopback = next(found for found in await net.interfaces() if found.name == "lo")
    assert loopback.is_up
    assert "127.0.0.1/8" in loopback.addresses
    assert loopback.in_bytes == loopback.out_bytes


async def test_names_and_addresses_are_resolved() -> None:
    assert "127.0.0.1" in await net.resolve("localhost")
    assert await net.resolve("192.0.2.7") == ["192.0.2.7"]
    with pytest.raises(UnreachableError):
        await net.resolve("no-such-host.invalid")


@pytest.mark.parametrize(
    "name", ["-f", "a b", "host;reboot", "$(reboot)", "a..b", "-n.example", "x" * 64, "\n"]
)
async def test_what_is_no_host_is_refused_before_anything_is_done(name: str) -> None:
    with pytest.raises(UsageError):
        await net.resolve(name)
    with pytest.raises(UsageError):
        await net.ping(name)


async def test_this_machine_answers_pings() -> None:
    try:
        result = await net.ping("127.0.0.1", count=2, timeout_s=5.0)
    except DeniedError as error:
        pytest.skip(str(error))
    assert result.lost == 0.0
    assert len(result.times_ms) == 2
    assert all(ms is not None and 0 <= ms < 5000 for ms in result.times_ms)


async def test_pings_to_an_unused_address_are_lost() -> None:
    """192.0.2.0/24 and 240.0.0.0/4 are nobody's; some systems do not even send there."""
    try:
        result = await net.ping("240.0.0.1", count=1, timeout_s=0.1)
    except UnreachableError:
        return
    except DeniedError as error:
        pytest.skip(str(error))
    assert result.times_ms == (None,)
    assert result.lost == 1.0


async def test_multicast_is_not_pinged() -> None:
    with pytest.raises(UsageError, match="multicast"):
        await net.ping("224.0.0.1")


async def test_routes_lead_somewhere() -> None:
    routes = await net.routes()
    interfaces = {found.name for found in await net.interfaces()}
    assert all(route.interface in interfaces for route in routes)
    assert all("/" in route.to for route in routes)
