"""For operators: how the hub itself is."""

from rookery.web.accounts.access import may
from rookery.web.accounts.caller import Caller
from rookery.web.http.api_routes import get
from rookery.web.http.dependencies import TheSite
from rookery.web.live.topic import LiveTopic, Values
from rookery.web.site import WebSite
from rookery.web.system.status import SystemShown, system_now


@get("/system", opt=may("operator", "read"), tags=["system"], summary="How the hub itself is")
async def get_system(site: TheSite) -> SystemShown:
    """Stores, spool, reports, connected services; one that does not answer is shown as away."""
    return await system_now(site)


async def _read(site: WebSite, _caller: Caller) -> Values:
    return {"now": await system_now(site)}


HANDLERS = (get_system,)
TOPICS = (LiveTopic("system", "operator", _read, is_shared=True, every_s=2.0),)
