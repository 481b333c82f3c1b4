"""Servers: seats, forecast, drain, forget."""

from litestar import Response, get, post
from litestar.params import FromPath
from litestar.response import Redirect

from rookery.web.accounts.access import may, may_after_proof
from rookery.web.devices.forgetting import forget_server
from rookery.web.http.dependencies import TheCaller, TheSite
from rookery.web.http.request import AnyRequest
from rookery.web.http.request_origin import request_origin
from rookery.web.pages import formats
from rookery.web.pages.rendering import api_command, page
from rookery.web.servers import status
from rookery.web.site import WebSite

_JSON = "/api/v1/servers"
_PAGE = "/fleet/servers"


@get(_PAGE, opt=may("operator"), include_in_schema=False)
async def servers_page(request: AnyRequest, site: TheSite) -> Response[str]:
    """What each carries, what is expected of it, and whether that counts."""
    forecast = status.forecast_now(site)
    values = await _values(site) | {
        "forecast": forecast,
        "has_outlook": site.lake is not None or forecast.state == "followed",
    }
    return page(request, "servers.html", values, cli=api_command(request, site, _JSON), json=_JSON)


@get(f"{_PAGE}/now", opt=may("operator"), include_in_schema=False)
async def servers_part(request: AnyRequest, site: TheSite) -> Response[str]:
    """The table alone, for a page that reloads it after a change."""
    return page(request, "parts/servers_now.html", await _values(site))


@post(f"{_PAGE}/{{hashname:str}}/drain", opt=may("operator"), include_in_schema=False)
async def drain_server(
    request: AnyRequest, hashname: FromPath[str], caller: TheCaller, site: TheSite
) -> Redirect:
    await status.drain(site, caller, hashname, request_origin(request, site))
    return Redirect(_PAGE, status_code=303)


@post(f"{_PAGE}/{{hashname:str}}/undrain", opt=may("operator"), include_in_schema=False)
async def undrain_server(
    request: AnyRequest, hashname: FromPath[str], caller: TheCaller, site: TheSite
) -> Redirect:
    await status.undrain(site, caller, hashname, request_origin(request, site))
    return Redirect(_PAGE, status_code=303)


@post(f"{_PAGE}/{{hashname:str}}/forget", opt=may_after_proof("admin"), include_in_schema=False)
async def forget(
    request: AnyRequest, hashname: FromPath[str], caller: TheCaller, site: TheSite
) -> Redirect:
    await forget_server(site, caller, hashname, request_origin(request, site))
    return Redirect(_PAGE, status_code=303)


async def _values(site: WebSite) -> dict[str, object]:
    return {
        "servers": await status.servers_now(site),
        "percent": formats.percent,
        "short": formats.short,
    }


HANDLERS = (servers_page, servers_part, drain_server, undrain_server, forget)
