"""A roster: the devices, servers and nodes of a synthetic dataset, where they are not drawn.

With the roster of a running demo, generated rows and what its members report themselves form one
past. A device's role says which faults it has; see `faults`.
"""

from dataclasses import dataclass
from typing import NamedTuple

from rookery.errors import UsageError


class RosterDevice(NamedTuple):
    device_id: str
    hashname: str
    site: int = 0
    role: int = 0  # without faults


class RosterLink(NamedTuple):
    """Between two nodes, by number, with its values while nothing is wrong."""

    one: int
    other: int
    rtt_ms: float
    loss: float = 0.0
    fades: bool = False  # every night
    flaps: bool = False  # some times a day


@dataclass(frozen=True, kw_only=True)
class Roster:
    """Node n runs on device n and has its hashname."""

    devices: tuple[RosterDevice, ...]
    servers: tuple[str, ...] = ()  # hashnames
    hubs: tuple[str, ...] = ("hub-1",)  # names of spools
    accounts: tuple[str, ...] = ("admin",)
    sites: tuple[str, ...] = ("site-0",)
    realm: str = ""
    nodes: int = 0
    links: tuple[RosterLink, ...] = ()
    relay: int = 0  # number of the node that was away for some hours

    def __post_init__(self) -> None:
        if not self.devices or self.nodes > len(self.devices):
            raise UsageError("a roster has devices, and at most one node on each")
        if any(max(link.one, link.other) >= self.nodes for link in self.links):
            raise UsageError("a link of a roster is between two of its nodes")
