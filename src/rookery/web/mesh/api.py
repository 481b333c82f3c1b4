"""For operators: the mesh as the hub's mesh node sees it."""

import asyncio
from typing import Annotated

import msgspec
from litestar.params import QueryParameter

from rookery.web.accounts.access import may
from rookery.web.accounts.caller import Caller
from rookery.web.http.api_routes import get
from rookery.web.http.dependencies import TheSite
from rookery.web.http.problems import RequestRefusedError
from rookery.web.live.topic import LiveTopic, Values
from rookery.web.mesh.control_rows import links_now, members_now
from rookery.web.mesh.graph import MeshGraphShown, MeshMatrix, MeshRouteExplanation, member_by_name
from rookery.web.mesh.matrix import MEMBERS_MAX
from rookery.web.mesh.source import MeshSource
from rookery.web.site import WebSite

_NAME_MAX = 64
_CONCURRENT = 500  # links sent to a page without a pause
_MEMBERS_TEXT_MAX = MEMBERS_MAX * (_NAME_MAX + 1)


def mesh_of(site: WebSite) -> MeshSource:
    """The hub's mesh node; 404 that names the option if there is none."""
    if site.mesh is None:
        text = "this hub has no mesh node; name one with: rookery hub --node CONTROL.SOCK"
        raise RequestRefusedError(404, "no_node", text)
    return site.mesh


@get("/mesh/graph", opt=may("operator", "read"), tags=["mesh"], summary="Members and links")
async def get_graph(site: TheSite) -> MeshGraphShown:
    """All that the node knows, at most a second old; null is what it does not know."""
    return await mesh_of(site).graph()


@get("/mesh/matrix", opt=may("operator", "read"), tags=["mesh"], summary="Latency and loss, N×N")
async def get_matrix(
    site: TheSite,
    members: Annotated[str, QueryParameter(max_length=_MEMBERS_TEXT_MAX)] = "",
    in_site: Annotated[str, QueryParameter(name="site", max_length=_NAME_MAX)] = "",
) -> MeshMatrix:
    """Between the members named (by commas), those of a site, or those with most links."""
    source = mesh_of(site)
    names = [one for one in members.split(",") if one]
    return await source.matrix(names, in_site)


@get("/mesh/explain", opt=may("operator", "read"), tags=["mesh"], summary="Why this path")
async def get_explanation(
    site: TheSite,
    from_: Annotated[str, QueryParameter(name="from", min_length=1, max_length=_NAME_MAX)],
    to: Annotated[str, QueryParameter(min_length=1, max_length=_NAME_MAX)],
) -> MeshRouteExplanation:
    """Candidate routes between two members: which is used, and why not the others."""
    source = mesh_of(site)
    graph = await source.graph()
    origin, target = member_by_name(graph, from_), member_by_name(graph, to)
    return await source.explain(origin.hashname, target.hashname)


async def read_mesh(site: WebSite, _caller: Caller) -> Values:
    """Empty without a mesh node; times instead of ages, which would always change."""
    if site.mesh is None:
        return {}
    graph = await site.mesh.graph()
    values: dict[str, msgspec.Struct] = {
        f"member {one.hashname}": one for one in members_now(graph)
    }
    for number, one in enumerate(links_now(graph)):
        values[f"link {one.a} {one.b}"] = one
        if number % _CONCURRENT == 0:
            await asyncio.sleep(0)  # others are served meanwhile
    return values


HANDLERS = (get_graph, get_matrix, get_explanation)
TOPICS = (LiveTopic("mesh", "operator", read_mesh, is_shared=True),)
