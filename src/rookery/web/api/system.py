"""For operators: how the hub itself is."""

from rookery.web.access import may
from rookery.web.api.route import get
from rookery.web.callers import Caller
from rookery.web.given import TheSite
from rookery.web.site import Site
from rookery.web.system import SystemShown, system_now
from rookery.web.topic import Topic, Values


@get("/system", opt=may("operator", "read"), tags=["system"], summary="How the hub itself is")
async def get_system(site: TheSite) -> SystemShown:
    """Stores, spool, reports, what stands beside it; a store that is away is said to be so."""
    return await system_now(site)


async def _read(site: Site, _caller: Caller) -> Values:
    return {"now": await system_now(site)}


HANDLERS = (get_system,)
TOPICS = (Topic("system", "operator", _read, is_shared=True, every_s=2.0),)
