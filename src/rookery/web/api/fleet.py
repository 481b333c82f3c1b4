"""For operators: the servers, and all routers."""

from typing import Annotated, Literal

import msgspec
from litestar.params import QueryParameter

from rookery.web.access import may
from rookery.web.api.route import get
from rookery.web.callers import Caller
from rookery.web.given import TheSite
from rookery.web.routers import Filter, RouterPage, router_page, routers_now
from rookery.web.site import Site
from rookery.web.topic import Topic
from rookery.wire.mac import parse_mac

ROWS = 100
ROWS_MAX = 500


class ServerShown(msgspec.Struct, frozen=True, kw_only=True):
    """A server and what it carries."""

    hashname: str
    tcp: str
    ws: str
    seats_max: int
    seats_used: int
    reserved: int
    cpu: float
    mem: float
    reported_at: float


@get("/servers", opt=may("operator", "read"), tags=["fleet"], summary="Servers and their load")
async def list_servers(site: TheSite) -> list[ServerShown]:
    return [
        ServerShown(
            hashname=one.hashname,
            tcp=one.tcp,
            ws=one.ws,
            seats_max=one.seats_max,
            seats_used=one.seats_used,
            reserved=one.reserved,
            cpu=one.cpu,
            mem=one.mem,
            reported_at=one.reported_at,
        )
        for one in await site.hub.servers()
    ]


@get("/routers", opt=may("operator", "read"), tags=["fleet"], summary="All routers")
async def list_routers(
    site: TheSite,
    after: Annotated[str | None, QueryParameter(max_length=32)] = None,
    count: Annotated[int, QueryParameter(ge=1, le=ROWS_MAX)] = ROWS,
    text: Annotated[str, QueryParameter(max_length=64)] = "",
    how: Annotated[Literal["online", "silent", ""], QueryParameter(name="state")] = "",
    owner: Annotated[str, QueryParameter(max_length=64)] = "",
) -> RouterPage:
    """Filters: `text` in name, MAC, address or hashname; `state`; `owner`, `-` for nobody's."""
    start = b"" if after is None else parse_mac(after)
    return await router_page(site, Filter(text=text, state=how, owner=owner), start, count)


async def _shown_now(site: Site, _caller: Caller) -> dict[str, msgspec.Struct]:
    return {router.mac: router for router in await routers_now(site)}


HANDLERS = (list_servers, list_routers)
TOPICS = (Topic("routers", "operator", _shown_now, is_shared=True, every_s=2.0),)
