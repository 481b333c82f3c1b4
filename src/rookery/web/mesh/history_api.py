"""For operators: the mesh as it was, from the lake."""

from datetime import UTC, datetime
from typing import Annotated

from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter

from rookery.errors import UnreachableError, UsageError
from rookery.web.accounts.access import may
from rookery.web.http.api_routes import get
from rookery.web.http.dependencies import TheSite
from rookery.web.insights.lake_reader import lake_of
from rookery.web.mesh.graph import MemberShown, MeshGraphShown
from rookery.web.mesh.history import MeshHistorySpan, graph_then, span
from rookery.web.site import WebSite

_TIME_MAX = 40


@get("/history/span", opt=may("operator", "read"), tags=["history"], summary="How far back")
async def get_span(site: TheSite) -> MeshHistorySpan:
    """From when to when the lake knows the mesh; null while it does not."""
    return await span(lake_of(site))


@get("/history/graph", opt=may("operator", "read"), tags=["history"], summary="The mesh then")
async def get_graph(
    site: TheSite, at: Annotated[str, QueryParameter(min_length=1, max_length=_TIME_MAX)]
) -> MeshGraphShown:
    """As `/mesh/graph`, at a time like 2026-03-02T12:00:00Z."""
    lake = lake_of(site)
    return await graph_then(lake, _time(at), await _known(site))


async def _known(site: WebSite) -> tuple[MemberShown, ...]:
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
