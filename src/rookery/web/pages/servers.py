"""Servers: seats, forecast, drain, forget."""

from litestar import Response, get, post
from litestar.params import FromPath
from litestar.response import Redirect

from rookery.web import servers
from rookery.web.access import may, may_after_proof
from rookery.web.connection import AnyRequest
from rookery.web.forgetting import forget_server
from rookery.web.given import TheCaller, TheSite
from rookery.web.pages import figures
from rookery.web.pages.api_command import api_command
from rookery.web.pages.page import page
from rookery.web.site import Site
from rookery.web.visits import visit

_JSON = "/api/v1/servers"
_PAGE = "/fleet/servers"


@get(_PAGE, opt=may("operator"), include_in_schema=False)
async def servers_page(request: AnyRequest, site: TheSite) -> Response[str]:
    """What each carries, what is expected of it, and whether that counts."""
    forecast = servers.forecast_now(site)
    values = await _values(site) | {
        "forecast": forecast,
        "has_outlook": site.lake is not None or forecast.state == "followed",
    }
    return page(request, "servers.html", values, cli=api_command(request, site, _JSON), json=_JSON)


@get(f"{_PAGE}/now", opt=may("operator"), include_in_schema=False)
async def servers_part(request: AnyRequest, site: TheSite) -> Response[str]:
    """The table alone, for a page that heard of a change."""
    return page(request, "parts/servers_now.html", await _values(site))


@post(f"{_PAGE}/{{hashname:str}}/drain", opt=may("operator"), include_in_schema=False)
async def drain_server(
    request: AnyRequest, hashname: FromPath[str], caller: TheCaller, site: TheSite
) -> Redirect:
    await servers.drain(site, caller, hashname, visit(request, site))
    return Redirect(_PAGE, status_code=303)


@post(f"{_PAGE}/{{hashname:str}}/undrain", opt=may("operator"), include_in_schema=False)
async def undrain_server(
    request: AnyRequest, hashname: FromPath[str], caller: TheCaller, site: TheSite
) -> Redirect:
    await servers.undrain(site, caller, hashname, visit(request, site))
    return Redirect(_PAGE, status_code=303)


@post(f"{_PAGE}/{{hashname:str}}/forget", opt=may_after_proof("admin"), include_in_schema=False)
async def forget(
    request: AnyRequest, hashname: FromPath[str], caller: TheCaller, site: TheSite
) -> Redirect:
    await forget_server(site, caller, hashname, visit(request, site))
    return Redirect(_PAGE, status_code=303)


async def _values(site: Site) -> dict[str, object]:
    return {
        "servers": await servers.servers_now(site),
        "percent": figures.percent,
        "short": figures.short,
    }


HANDLERS = (servers_page, servers_part, drain_server, undrain_server, forget)
