"""Schemas of the mesh, now or at a past time, and looking up its members.

    {"at": …, "members": [{"hashname": …, "name": …, …}], "links": [{"a": …, "b": …, …}]}

None: unknown. The hashnames of a link are in order: `a` before `b`. Structs that come in thousands
are not tracked by the garbage collector, as they cannot be part of a cycle.
"""

from typing import Literal

import msgspec

from rookery.errors import UsageError
from rookery.identity.hashname import named_by
from rookery.web.http.problems import RequestRefusedError

LinkState = Literal["up", "down", "one-way"]


class MemberShown(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A member, and whether the hub's node has a route to it."""

    hashname: str
    name: str
    site: str  # from its name; empty: none
    roles: tuple[str, ...]
    is_up: bool
    age_s: float | None  # of its last record of links
    reach: str = ""  # as `runtime.node.members` names it; empty: unknown


class LinkShown(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A link, as its two ends report it."""

    a: str
    b: str
    rtt_ms: float | None
    loss_ab: float | None
    loss_ba: float | None
    cost_ab_us: int | None
    cost_ba_us: int | None
    rate_bytes_s: int | None
    state: LinkState
    age_s: float | None  # of the older report


class MeshGraphShown(msgspec.Struct, frozen=True, kw_only=True):
    """The whole mesh at one time."""

    at: float
    members: tuple[MemberShown, ...]
    links: tuple[LinkShown, ...]


class MemberNow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A member in live updates: a time instead of an age, which would always change."""

    hashname: str
    name: str
    site: str
    roles: tuple[str, ...]
    is_up: bool
    claimed_at: float | None


class LinkNow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A link in live updates."""

    a: str
    b: str
    rtt_ms: float | None
    loss_ab: float | None
    loss_ba: float | None
    cost_ab_us: int | None
    cost_ba_us: int | None
    rate_bytes_s: int | None
    state: LinkState
    claimed_at: float | None


class MeshRouteShown(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate route, its cost, and why it is used or not."""

    nodes: tuple[str, ...]
    cost_us: int
    is_used: bool
    why: str


class MeshRouteExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why packets from one member to another take their route."""

    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    lines: tuple[str, ...]
    # The one in use first, if there is one.
    routes: tuple[MeshRouteShown, ...] = msgspec.field(name="ways")


class MeshMatrixCell(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """From one member to another, along the route in use; None: there is no route."""

    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    latency_ms: float | None
    loss: float | None
    age_s: float | None  # of the oldest report on the route
    is_direct: bool
    via: tuple[str, ...]


class MeshMatrix(msgspec.Struct, frozen=True, kw_only=True):
    """Some members, and the routes between every two of them."""

    at: float
    members: tuple[MemberShown, ...]
    cells: tuple[MeshMatrixCell, ...]
    left_out: int = 0  # members that are not in it


class QueueShown(msgspec.Struct, frozen=True, kw_only=True):
    """Requests queued for one member."""

    hashname: str
    name: str
    requests: int
    requests_max: int
    bytes: int
    bytes_max: int
    states: dict[str, int]
    is_in_session: bool
    is_alarmed: bool
    last_error: str


class QueuedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request that is queued or being delivered."""

    id: int
    state: str
    qos: int
    bytes: int
    wants_reply: bool
    expires_in_s: float | None
    is_begun: bool  # too late to cancel


def member_by_name(graph: MeshGraphShown, text: str) -> MemberShown:
    """The member of that name or hashname prefix; 404 if there is none."""
    found = named_by(text, graph.members, lambda one: (one.name, one.hashname))
    if not found:
        raise RequestRefusedError(404, "unknown", f"no member of the mesh is called {text!r}")
    if len(found) > 1:
        raise UsageError(f"{text!r} may be any of {len(found)} members; say more of it")
    return found[0]
