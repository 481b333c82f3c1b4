"""How devices are reached: what the node beside the hub says of those that are in its mesh.

A device is in the mesh by its hashname, that is when its node and its agent share their keys.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Literal, NamedTuple

from rookery.errors import UnreachableError
from rookery.web.site import Site

Reach = Literal["direct", "relayed", "unreachable", ""]


class Place(NamedTuple):
    """Where a device is in the mesh."""

    reach: Reach
    queued: int | None  # requests that wait for it


Reached = Mapping[str, Place]  # by hashname
NOWHERE = Place("", None)

_REACHES: dict[str, Reach] = {
    "self": "direct",
    "direct": "direct",
    "relay": "relayed",
    "route": "relayed",
    "none": "unreachable",
}


async def reached(site: Site, hashnames: Collection[str]) -> Reached:
    """Those of these that are in the mesh; nobody, where no node is beside us or it is away."""
    if site.mesh is None or not hashnames:
        return {}
    with suppress(UnreachableError):
        graph = await site.mesh.graph()
        members = [member for member in graph.members if member.hashname in hashnames]
        queues = await site.mesh.queues() if members else []
        counts = {queue.hashname: queue.requests for queue in queues}
        return {
            member.hashname: Place(_REACHES.get(member.reach, ""), counts.get(member.hashname, 0))
            for member in members
        }
    return {}
