"""Which member of a mesh is meant."""

from rookery.errors import UsageError
from rookery.identity.hashname import meant
from rookery.web.mesh_graph import Graph, MemberShown
from rookery.web.problems import RefusedError


def member_called(graph: Graph, text: str) -> MemberShown:
    """The one of that name, or whose hashname begins so; 404 when there is none."""
    found = meant(text, graph.members, lambda one: (one.name, one.hashname))
    if not found:
        raise RefusedError(404, "unknown", f"no member of the mesh is called {text!r}")
    if len(found) > 1:
        raise UsageError(f"{text!r} may be any of {len(found)} members; say more of it")
    return found[0]
