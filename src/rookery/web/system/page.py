"""The page of the hub itself: stores, spool, reports, connected services."""

from litestar import Response, get

from rookery.web.accounts.access import may
from rookery.web.http.dependencies import TheSite
from rookery.web.http.request import AnyRequest
from rookery.web.pages.rendering import page
from rookery.web.system.status import system_now


@get("/fleet/system", opt=may("operator"), include_in_schema=False)
async def system_page(request: AnyRequest, site: TheSite) -> Response[str]:
    """As it is now; figures go on by script."""
    values = {"system": await system_now(site)}
    url = (site.settings.public_url or str(request.base_url)).rstrip("/")
    return page(request, "system.html", values, cli=f"curl -s {url}/metrics", json="/api/v1/system")


HANDLERS = (system_page,)
