"""How rows name a node, how it is reached, and the rows of the graph."""

from enum import Enum

import msgspec


class NodeName(msgspec.Struct, frozen=True):
    """A node by its hashname, and what people call it."""

    hashname: str  # the first 12 characters only, where nobody has shown its certificate
    name: str = ""  # as in its certificate

    def __str__(self) -> str:
        return self.name or self.hashname[:8]


class Reachability(Enum):
    """How a member is reached from here."""

    SELF = "self"
    DIRECT = "direct"  # an address of its own
    RELAY = "relay"  # through a router that knows both ends
    ROUTE = "route"  # over other members
    NONE = "none"


class GraphLinkState(Enum):
    """A link, as far as its ends' records tell."""

    UP = "up"  # both ends claim it
    ONE_WAY = "one-way"  # one end claims it that can be reached itself
    DOWN = "down"  # it is left over from a member that is gone, or the node's own and broken


class GraphMember(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A member of the realm."""

    hashname: str
    name: str = ""
    site: str = ""  # what stands before the first dash or dot of its name
    roles: tuple[str, ...] = ()
    reach: Reachability = Reachability.NONE  # from the node that was asked
    claimed_at: int | None = None  # when it told of its links


class GraphLink(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A link between two members, `a` before `b` by their hashnames."""

    a: str
    b: str
    state: GraphLinkState
    cost_us: int | None = None  # what routes count for it, in both directions
    cost_ab_us: int | None = None  # what `a` claims,
    cost_ba_us: int | None = None  # and what `b` does
    loss_ab: float | None = None  # of what `a` sends, 0 to 1
    loss_ba: float | None = None
    rate_ab_bytes_s: int | None = None
    rate_ba_bytes_s: int | None = None
    rtt_ms: float | None = None  # measured by the node that was asked, which is one of the ends
    is_avoided: bool = False  # a packet failed on it lately
    claimed_at: int | None = None  # when the older of the claims was made


class GraphPart(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="graph"):
    """Some of the mesh as one node knows it; the rows of an answer together are all of it."""

    at: float
    members: tuple[GraphMember, ...] = ()
    links: tuple[GraphLink, ...] = ()
