"""The overview: how the fleet is, at a glance."""

import time

from litestar import Response, get

from rookery.web.accounts.access import may
from rookery.web.http.dependencies import TheSite
from rookery.web.http.request import AnyRequest
from rookery.web.overview.summary import overview_now
from rookery.web.pages import formats
from rookery.web.pages.rendering import api_command, page
from rookery.web.site import WebSite

_JSON = "/api/v1/overview"


@get("/fleet", opt=may("operator"), include_in_schema=False)
async def overview(request: AnyRequest, site: TheSite) -> Response[str]:
    """Tiles that each lead to their page; live."""
    values = await _values(site)
    return page(request, "overview.html", values, cli=api_command(request, site, _JSON), json=_JSON)


@get("/fleet/now", opt=may("operator"), include_in_schema=False)
async def overview_part(request: AnyRequest, site: TheSite) -> Response[str]:
    """The tiles alone, for a page that reloads them after a change."""
    return page(request, "parts/overview_now.html", await _values(site))


async def _values(site: WebSite) -> dict[str, object]:
    return {
        "now": await overview_now(site),
        "percent": formats.percent,
        "size": formats.size,
        "number": formats.number,
        "short": formats.short,
        "clock": _clock,
    }


def _clock(seconds: float) -> str:
    return time.strftime("%H:%M", time.gmtime(seconds))


HANDLERS = (overview, overview_part)
