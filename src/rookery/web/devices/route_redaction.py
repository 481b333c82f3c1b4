"""Routes to a device as its owner may see them: without the names of others' members."""

import msgspec

from rookery.web.accounts.caller import Caller
from rookery.web.mesh.graph import MeshRouteExplanation, MeshRouteShown
from rookery.web.site import WebSite

OTHER_OWNER = "a relay of another owner"

# Reasons that begin so name no member; others may, after the colon.
_NAMELESS = ("chosen: ", "lost: ")


async def own_members(site: WebSite, caller: Caller) -> set[str]:
    """Hashnames of the caller's own devices."""
    devices = await site.devices.of(caller.account)
    entries = await site.hub.hot.entries([device.mac for device in devices])
    return {entry.hashname for entry in entries if entry is not None}


def redacted_explanation(explanation: MeshRouteExplanation, own: set[str]) -> MeshRouteExplanation:
    """The explanation without other owners' members, in nodes, reasons and lines."""
    routes = tuple(_route(route, own) for route in explanation.routes)
    return msgspec.structs.replace(explanation, lines=tuple(map(_line, routes)), routes=routes)


def _route(route: MeshRouteShown, own: set[str]) -> MeshRouteShown:
    # The first is the hub's mesh node, where every route begins.
    nodes = tuple(
        node if node in own or place == 0 else OTHER_OWNER for place, node in enumerate(route.nodes)
    )
    why = route.why if route.why.startswith(_NAMELESS) else route.why.partition(":")[0]
    return msgspec.structs.replace(route, nodes=nodes, why=why)


def _line(route: MeshRouteShown) -> str:
    return f"{route.cost_us / 1000:.1f} ms, over {max(len(route.nodes) - 2, 0)} relays: {route.why}"
