"""The map of the mesh, live and as it was."""

from litestar import Response, get

from rookery.web.accounts.access import may
from rookery.web.http.dependencies import TheSite
from rookery.web.http.request import AnyRequest
from rookery.web.pages.rendering import page


@get("/fleet/map", opt=may("operator"), include_in_schema=False)
async def fleet_map(request: AnyRequest, site: TheSite) -> Response[str]:
    """Members, links and the paths between them; what it shows comes by script."""
    values = {"has_mesh": site.mesh is not None, "has_lake": site.lake is not None}
    return page(request, "map.html", values, cli="rookery graph", json="/api/v1/mesh/graph")


HANDLERS = (fleet_map,)
