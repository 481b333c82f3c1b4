"""Reachability of devices in the mesh, as the hub's mesh node sees it.

A device is in the mesh by its hashname, that is if its node and its agent share their keys.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Literal, NamedTuple

from rookery.errors import UnreachableError
from rookery.web.site import WebSite

Reach = Literal["direct", "relayed", "unreachable", ""]


class DeviceMeshReach(NamedTuple):
    """Reachability of a device, and its queue."""

    reach: Reach
    queued: int | None  # requests that wait for it


MeshReaches = Mapping[str, DeviceMeshReach]  # by hashname
NOT_IN_MESH = DeviceMeshReach("", None)

_REACHES: dict[str, Reach] = {
    "self": "direct",
    "direct": "direct",
    "relay": "relayed",
    "route": "relayed",
    "none": "unreachable",
}


async def mesh_reach_of(site: WebSite, hashnames: Collection[str]) -> MeshReaches:
    """Those that are in the mesh; none if the hub has no node or it does not answer."""
    if site.mesh is None or not hashnames:
        return {}
    with suppress(UnreachableError):
        graph = await site.mesh.graph()
        members = [member for member in graph.members if member.hashname in hashnames]
        queues = await site.mesh.queues() if members else []
        counts = {queue.hashname: queue.requests for queue in queues}
        return {
            member.hashname: DeviceMeshReach(
                _REACHES.get(member.reach, ""), counts.get(member.hashname, 0)
            )
            for member in members
        }
    return {}
