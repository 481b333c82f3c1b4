"""For operators: the whole fleet in a few figures, and its servers."""

from litestar.handlers import HTTPRouteHandler

from rookery.web.access import may
from rookery.web.api import servers
from rookery.web.api.route import get
from rookery.web.callers import Caller
from rookery.web.given import TheSite
from rookery.web.overview import Overview, overview_now
from rookery.web.site import Site
from rookery.web.topic import Topic, Values


@get("/overview", opt=may("operator", "read"), tags=["fleet"], summary="The fleet in figures")
async def get_overview(site: TheSite) -> Overview:
    """What is not there is null: no mesh node beside the hub, no lake, no forecast."""
    return await overview_now(site)


async def read_overview(site: Site, _caller: Caller) -> Values:
    return {"now": await overview_now(site)}


HANDLERS: tuple[HTTPRouteHandler, ...] = (get_overview, *servers.HANDLERS)
TOPICS: tuple[Topic, ...] = (
    Topic("overview", "operator", read_overview, is_shared=True, every_s=2.0),
    *servers.TOPICS,
)
