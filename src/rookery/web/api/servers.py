"""For operators: how full servers were and will be, draining and forgetting one."""

from litestar.params import FromPath

from rookery.web import servers
from rookery.web.access import may, may_after_proof
from rookery.web.api.route import delete, get, put
from rookery.web.callers import Caller
from rookery.web.connection import AnyRequest
from rookery.web.forgetting import forget_server
from rookery.web.given import TheCaller, TheSite
from rookery.web.server_outlook import ServerOutlook, outlooks
from rookery.web.servers import ForecastShown, ServerShown
from rookery.web.site import Site
from rookery.web.topic import Topic, Values
from rookery.web.visits import visit

_TAGS = ["fleet"]


@get("/servers/outlook", opt=may("operator", "read"), tags=_TAGS, summary="Past and forecast load")
async def list_outlooks(site: TheSite) -> list[ServerOutlook]:
    """Shares of seats hour by hour; from the lake, or the forecast that the hub follows."""
    return await outlooks(site, [one.hashname for one in await servers.servers_now(site)])


@get("/servers/forecast", opt=may("operator", "read"), tags=_TAGS, summary="Is it followed")
async def get_forecast(site: TheSite) -> ForecastShown:
    """Whether forecasts have a say in which server is chosen, and why not."""
    return servers.forecast_now(site)


@put("/servers/{hashname:str}/drain", opt=may("operator", "write"), tags=_TAGS, summary="Drain it")
async def drain_server(
    request: AnyRequest, hashname: FromPath[str], caller: TheCaller, site: TheSite
) -> ServerShown:
    """It gets nobody new; sessions there end by themselves. All hubs heed it in a second."""
    return await servers.drain(site, caller, hashname, visit(request, site))


@delete(
    "/servers/{hashname:str}/drain",
    opt=may("operator", "write"),
    tags=_TAGS,
    summary="Have it serve again",
    status_code=200,
)
async def undrain_server(
    request: AnyRequest, hashname: FromPath[str], caller: TheCaller, site: TheSite
) -> ServerShown:
    return await servers.undrain(site, caller, hashname, visit(request, site))


@delete(
    "/servers/{hashname:str}",
    opt=may_after_proof("admin"),
    tags=_TAGS,
    summary="Forget it",
    status_code=204,
)
async def forget(
    request: AnyRequest, hashname: FromPath[str], caller: TheCaller, site: TheSite
) -> None:
    """It gets nobody new, sessions there end, and it needs a new code to come back."""
    await forget_server(site, caller, hashname, visit(request, site))


async def read_servers(site: Site, _caller: Caller) -> Values:
    """By hashname."""
    return {one.hashname: one for one in await servers.servers_now(site)}


HANDLERS = (list_outlooks, get_forecast, drain_server, undrain_server, forget)
TOPICS = (Topic("servers", "operator", read_servers, is_shared=True),)
