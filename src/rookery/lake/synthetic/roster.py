"""Roster: who there is in a history, when that is not drawn: the members of a world that lives.

What is generated for them and what they report themselves are then one and the same past. The fates
of the routers are given as roles; see `faults` for what they are.
"""

from dataclasses import dataclass
from typing import NamedTuple

from rookery.errors import UsageError


class RosterDevice(NamedTuple):
    device_id: str
    hashname: str
    site: int = 0
    role: int = 0  # nothing befalls it


class RosterLink(NamedTuple):
    """Between two nodes, by number; as it is while nothing is wrong."""

    one: int
    other: int
    rtt_ms: float
    loss: float = 0.0
    fades: bool = False  # every night
    flaps: bool = False  # some times a day


@dataclass(frozen=True, kw_only=True)
class Roster:
    """The first nodes are those beside the first routers, and have their hashnames."""

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
            raise UsageError("a roster has routers, and nodes beside some of them")
        if any(max(link.one, link.other) >= self.nodes for link in self.links):
            raise UsageError("a link of a roster is between two of its nodes")
