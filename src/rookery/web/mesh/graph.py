"""The mesh as pages and programs are shown it, now or at a time of the past.

    {"at": …, "members": [{"hashname": …, "name": …, …}], "links": [{"a": …, "b": …, …}]}

None is what is not known. Hashnames of a link are in order: `a` before `b`. What there are
thousands of is left out of garbage collection, as it refers to nothing that could refer back.
"""

from typing import Literal

import msgspec

from rookery.errors import UsageError
from rookery.identity.hashname import named_by
from rookery.web.http.problems import RequestRefusedError

LinkState = Literal["up", "down", "one-way"]


class MemberShown(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A member, and whether the node beside the hub finds a way to it."""

    hashname: str
    name: str
    site: str  # empty when its name tells none
    roles: tuple[str, ...]
    is_up: bool
    age_s: float | None  # since it told of its links
    reach: str = ""  # as `runtime.node.members` names it; empty: unknown


class LinkShown(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A link, as its two ends tell of it."""

    a: str
    b: str
    rtt_ms: float | None
    loss_ab: float | None
    loss_ba: float | None
    cost_ab_us: int | None
    cost_ba_us: int | None
    rate_bytes_s: int | None
    state: LinkState
    age_s: float | None  # of the older claim


class MeshGraphShown(msgspec.Struct, frozen=True, kw_only=True):
    """The whole mesh at one time."""

    at: float
    members: tuple[MemberShown, ...]
    links: tuple[LinkShown, ...]


class MemberNow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A member as it is followed live: a time instead of an age, which would change always."""

    hashname: str
    name: str
    site: str
    roles: tuple[str, ...]
    is_up: bool
    claimed_at: float | None


class LinkNow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A link as it is followed live."""

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
    """A way that was weighed."""

    nodes: tuple[str, ...]
    cost_us: int
    is_used: bool
    why: str


class MeshRouteExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why packets from one member to another take the way they take."""

    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    lines: tuple[str, ...]
    ways: tuple[MeshRouteShown, ...]  # the one in use first, if there is one


class MeshMatrixCell(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """From one member to another, along the way that packets take; None: there is none."""

    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    latency_ms: float | None
    loss: float | None
    age_s: float | None  # of the oldest claim on the way
    is_direct: bool
    via: tuple[str, ...]


class MeshMatrix(msgspec.Struct, frozen=True, kw_only=True):
    """Some members, and every way between two of them."""

    at: float
    members: tuple[MemberShown, ...]
    cells: tuple[MeshMatrixCell, ...]
    left_out: int = 0  # members that are not in it


class QueueShown(msgspec.Struct, frozen=True, kw_only=True):
    """What waits for one member."""

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
    """One request that waits, or is under way."""

    id: int
    state: str
    qos: int
    bytes: int
    wants_reply: bool
    expires_in_s: float | None
    is_begun: bool  # too late to cancel


def member_by_name(graph: MeshGraphShown, text: str) -> MemberShown:
    """The one of that name, or whose hashname begins so; 404 when there is none."""
    found = named_by(text, graph.members, lambda one: (one.name, one.hashname))
    if not found:
        raise RequestRefusedError(404, "unknown", f"no member of the mesh is called {text!r}")
    if len(found) > 1:
        raise UsageError(f"{text!r} may be any of {len(found)} members; say more of it")
    return found[0]
