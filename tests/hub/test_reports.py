"""Reports through a whole hub: real sockets, real reporters, a real disk."""

from rookery.hub.hub import Hub
from tests.hub.identities import identity, mac
from tests.hub.router import Router


async def test_a_router_enrols_by_itself_and_its_reports_are_acknowledged(hub: Hub) -> None:
    """F3, F4"""
    async with Router(hub.link, identity("alice"), mac(1)) as router:
        await router.report(7.0)
        entry = await hub.entry(mac(1))
        assert entry is not None
        assert entry.hashname == router.identity.hashname
        assert not hub.is_silent(entry)
        await router.report(8.0)
    assert router.core.counters.hellos == 1
