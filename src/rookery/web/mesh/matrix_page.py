"""Latency and loss between every two members."""

from litestar import Response, get

from rookery.web.accounts.access import may
from rookery.web.http.dependencies import TheSite
from rookery.web.http.request import AnyRequest
from rookery.web.pages.rendering import page


@get("/fleet/matrix", opt=may("operator"), include_in_schema=False)
async def fleet_matrix(request: AnyRequest, site: TheSite) -> Response[str]:
    """Each way between two members, with the age of its figures; filled by script."""
    values = {"has_mesh": site.mesh is not None}
    return page(request, "matrix.html", values, cli="rookery graph", json="/api/v1/mesh/matrix")


HANDLERS = (fleet_matrix,)
