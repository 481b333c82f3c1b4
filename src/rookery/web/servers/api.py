"""For operators: servers, their past and forecast load, draining and forgetting one."""

from litestar.params import FromPath

from rookery.web.accounts.access import may, may_after_proof
from rookery.web.accounts.caller import Caller
from rookery.web.devices.forgetting import forget_server
from rookery.web.http.api_routes import delete, get, put
from rookery.web.http.dependencies import TheCaller, TheSite
from rookery.web.http.request import AnyRequest
from rookery.web.http.request_origin import request_origin
from rookery.web.live.topic import LiveTopic, Values
from rookery.web.servers import status
from rookery.web.servers.load_chart import ServerLoadChart, load_charts
from rookery.web.servers.status import ServerForecastShown, ServerShown
from rookery.web.site import WebSite

_TAGS = ["fleet"]


@get("/servers", opt=may("operator", "read"), tags=_TAGS, summary="Servers and their load")
async def list_servers(site: TheSite) -> list[ServerShown]:
    """The fullest first, silent ones last."""
    return await status.servers_now(site)


@get("/servers/outlook", opt=may("operator", "read"), tags=_TAGS, summary="Past and forecast load")
async def list_outlooks(site: TheSite) -> list[ServerLoadChart]:
    """Shares of seats hour by hour; from the lake, or the forecast that the hub follows."""
    return await load_charts(site, [one.hashname for one in await status.servers_now(site)])


@get("/servers/forecast", opt=may("operator", "read"), tags=_TAGS, summary="Is it followed")
async def get_forecast(site: TheSite) -> ServerForecastShown:
    """Whether the choice of servers follows a forecast, and if not, why."""
    return status.forecast_now(site)


@put("/servers/{hashname:str}/drain", opt=may("operator", "write"), tags=_TAGS, summary="Drain it")
async def drain_server(
    request: AnyRequest, hashname: FromPath[str], caller: TheCaller, site: TheSite
) -> ServerShown:
    """It gets no new sessions; those there end by themselves. All hubs follow in a second."""
    return await status.drain(site, caller, hashname, request_origin(request, site))


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
    return await status.undrain(site, caller, hashname, request_origin(request, site))


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
    """It gets no new sessions, those there end, and it needs a new code to enrol again."""
    await forget_server(site, caller, hashname, request_origin(request, site))


async def read_servers(site: WebSite, _caller: Caller) -> Values:
    """By hashname."""
    return {one.hashname: one for one in await status.servers_now(site)}


HANDLERS = (list_servers, list_outlooks, get_forecast, drain_server, undrain_server, forget)
TOPICS = (LiveTopic("servers", "operator", read_servers, is_shared=True),)
