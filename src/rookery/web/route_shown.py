"""Ways to a device as its owner may see them: other owners' members are on them without names."""

import msgspec

from rookery.web.callers import Caller
from rookery.web.mesh_graph import ExplanationShown, WayShown
from rookery.web.site import Site

ANOTHERS = "a relay of another owner"

# How reasons begin that name no member; what follows others may name some.
_NAMELESS = ("chosen: ", "lost: ")


async def own_members(site: Site, caller: Caller) -> set[str]:
    """Hashnames of the caller's own devices."""
    devices = await site.devices.of(caller.account)
    entries = await site.hub.hot.entries([device.mac for device in devices])
    return {entry.hashname for entry in entries if entry is not None}


def without_others(explanation: ExplanationShown, own: set[str]) -> ExplanationShown:
    """The same, with nothing of the node's own words but what names nobody."""
    ways = tuple(_way(way, own) for way in explanation.ways)
    return msgspec.structs.replace(explanation, lines=tuple(map(_line, ways)), ways=ways)


def _way(way: WayShown, own: set[str]) -> WayShown:
    # The first is the node beside the hub, where every way begins.
    nodes = tuple(
        node if node in own or place == 0 else ANOTHERS for place, node in enumerate(way.nodes)
    )
    why = way.why if way.why.startswith(_NAMELESS) else way.why.partition(":")[0]
    return msgspec.structs.replace(way, nodes=nodes, why=why)


def _line(way: WayShown) -> str:
    return f"{way.cost_us / 1000:.1f} ms, over {max(len(way.nodes) - 2, 0)} relays: {way.why}"
