"""Settings of a node: what its operator decides."""

from collections.abc import Mapping

import msgspec

from rookery.mesh.records.flooding import FloodLimits
from rookery.mesh.routing.route import RoutePolicy
from rookery.wire.link.path import NetPath

LINKS_MAX = 256


class NodeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator decides; the defaults do for most."""

    paths: tuple[NetPath, ...] = ()  # where others can dial us
    peers: frozenset[str] = frozenset()  # hashnames that may know us for a member at once
    services: tuple[str, ...] = ()
    offsets_us: Mapping[str, int] = msgspec.field(default_factory=dict)  # cost of links by hashname
    links_max: int = LINKS_MAX
    policy: RoutePolicy = msgspec.field(default_factory=RoutePolicy)
    flood: FloodLimits = msgspec.field(default_factory=FloodLimits)
