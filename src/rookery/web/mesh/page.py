"""The map of the mesh and the matrix of its members; scripts fill both."""

from litestar import Response, get

from rookery.web.accounts.access import may
from rookery.web.http.dependencies import TheSite
from rookery.web.http.request import AnyRequest
from rookery.web.pages.rendering import page


@get("/fleet/map", opt=may("operator"), include_in_schema=False)
async def fleet_map(request: AnyRequest, site: TheSite) -> Response[str]:
    """Members, links and the paths between them, live and as they were."""
    values = {"has_mesh": site.mesh is not None, "has_lake": site.lake is not None}
    return page(request, "map.html", values, cli="rookery graph", json="/api/v1/mesh/graph")


@get("/fleet/matrix", opt=may("operator"), include_in_schema=False)
async def fleet_matrix(request: AnyRequest, site: TheSite) -> Response[str]:
    """Latency and loss from each member to each other one, with the age of the figures."""
    values = {"has_mesh": site.mesh is not None}
    return page(request, "matrix.html", values, cli="rookery graph", json="/api/v1/mesh/matrix")


HANDLERS = (fleet_map, fleet_matrix)
