"""For operators: the mesh as it was, from the lake."""

from datetime import UTC, datetime
from typing import Annotated

from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter

from rookery.errors import UnreachableError, UsageError
from rookery.web.access import may
from rookery.web.api.route import get
from rookery.web.given import TheSite
from rookery.web.lake_view import lake_of
from rookery.web.mesh_graph import Graph, MemberShown
from rookery.web.mesh_history import Span, graph_then, span
from rookery.web.site import Site
from rookery.web.topic import Topic

_TIME_MAX = 40


@get("/history/span", opt=may("operator", "read"), tags=["history"], summary="How far back")
async def get_span(site: TheSite) -> Span:
    """From when to when the lake knows the mesh; null while it does not."""
    return await span(lake_of(site))


@get("/history/graph", opt=may("operator", "read"), tags=["history"], summary="The mesh then")
async def get_graph(
    site: TheSite, at: Annotated[str, QueryParameter(min_length=1, max_length=_TIME_MAX)]
) -> Graph:
    """As `/mesh/graph`, at a time like 2026-03-02T12:00:00Z."""
    lake = lake_of(site)
    return await graph_then(lake, _time(at), await _known(site))


async def _known(site: Site) -> tuple[MemberShown, ...]:
    """The lake knows hashnames; their names are the mesh's."""
    if site.mesh is None:
        return ()
    try:
        return (await site.mesh.graph()).members
    except UnreachableError:
        return ()


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError("at: give a time like 2026-03-02T12:00:00Z") from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)


HANDLERS: tuple[HTTPRouteHandler, ...] = (get_span, get_graph)
TOPICS: tuple[Topic, ...] = ()
