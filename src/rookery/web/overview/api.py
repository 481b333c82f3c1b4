"""For operators: the whole fleet in a few figures."""

from rookery.web.accounts.access import may
from rookery.web.accounts.caller import Caller
from rookery.web.http.api_routes import get
from rookery.web.http.dependencies import TheSite
from rookery.web.live.topic import LiveTopic, Values
from rookery.web.overview.summary import Overview, overview_now
from rookery.web.site import WebSite


@get("/overview", opt=may("operator", "read"), tags=["fleet"], summary="The fleet in figures")
async def get_overview(site: TheSite) -> Overview:
    """Null stands for what the hub runs without: mesh node, lake, forecast."""
    return await overview_now(site)


async def read_overview(site: WebSite, _caller: Caller) -> Values:
    return {"now": await overview_now(site)}


HANDLERS = (get_overview,)
TOPICS = (LiveTopic("overview", "operator", read_overview, is_shared=True, every_s=2.0),)
