"""Snapshots: what a node says about itself, as values and, field by field, as JSON.

    ControlledNode ──NodeStatus, PeerRow, …──▶ control socket, metrics, screen

Each is a row of its own; in JSON, `is` tells which. Times are Unix seconds where a name ends in
`_at`, and lengths of time in the unit that it ends in. None is what is not known (yet).
"""

from collections.abc import AsyncIterator, Iterable
from enum import Enum
from typing import Protocol

import msgspec

from rookery.link.channels.sock import SockAddress
from rookery.runtime.bench.report import BenchProgress, BenchReport
from rookery.runtime.node.members import GraphPart, NodeName, Reachability
from rookery.runtime.outbox.rows import QueueRow, RequestRow

VERSION = 1  # of all that is below; a new field is no new version

STALE_S = 10.0  # a node that has done nothing for so long tells of the past


class PeerState(Enum):
    """A neighbour, as the mesh sees it."""

    JOINING = "joining"  # linked, but not measured in both directions yet
    UP = "up"
    SUSPECT = "suspect"  # keepalives are missing
    DOWN = "down"


class PeerPathState(Enum):
    """One path of a neighbour."""

    UNPROVEN = "unproven"  # known, but nothing came back over it yet
    PROBING = "probing"
    UP = "up"
    SUSPECT = "suspect"
    DOWN = "down"


class NetCheckResult(Enum):
    """What came of a check."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    UNKNOWN = "unknown"


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="status"):
    """The node as a whole."""

    hashname: str
    name: str
    realm: str
    roles: tuple[str, ...]
    version: str  # of the program
    build: str  # whether its cores are compiled
    pid: int
    made_at: float
    uptime_s: float
    worked_ago_s: float  # since it last saw to its links
    listening: tuple[str, ...]
    members: int  # of the realm, this node among them
    peers: int
    peers_up: int
    routes: int  # members that can be reached
    certificate_ends_at: int
    is_ready: bool
    problems: tuple[str, ...] = ()  # why it is not ready
    advice: str = "off"  # whether an analysis' advice about links is followed, missing or stale

    @property
    def is_stale(self) -> bool:
        return self.worked_ago_s > STALE_S


class PeerPathRow(msgspec.Struct, frozen=True, kw_only=True):
    """One path to a neighbour."""

    address: str
    transport: str  # "tcp4", "udp6", "route", …
    state: PeerPathState
    is_used: bool = False  # now
    rtt_ms: float | None = None
    jitter_ms: float | None = None
    loss_out: float | None = None  # lost on the way out, 0 to 1
    loss_in: float | None = None
    rate_bytes_s: int | None = None
    last_error: str = ""


class PeerRow(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="peer"):
    """A member that this node has a link with, or would like to have one with."""

    node: NodeName
    state: PeerState
    roles: tuple[str, ...] = ()
    cost_us: int | None = None
    offset_us: int = 0  # what the operator put on top
    advice: float = 1.0  # how many times as dear as measured, by somebody's advice
    rtt_ms: float | None = None
    jitter_ms: float | None = None
    loss_out: float | None = None
    loss_in: float | None = None
    rate_bytes_s: int | None = None
    in_bytes: int = 0
    out_bytes: int = 0
    state_since_s: float = 0.0
    paths: tuple[PeerPathRow, ...] = msgspec.field(name="ways", default=())
    last_error: str = ""
    last_error_at: float | None = None

    @property
    def used(self) -> PeerPathRow | None:
        return next((path for path in self.paths if path.is_used), None)


class RouteOption(msgspec.Struct, frozen=True):
    """A route through the mesh, both ends included."""

    nodes: tuple[NodeName, ...]
    cost_us: int

    def __str__(self) -> str:
        return " → ".join(map(str, self.nodes[1:]))


class MemberRouteRow(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="route"):
    """Where packets to one member go."""

    to: NodeName
    reach: Reachability
    best: RouteOption | None = msgspec.field(name="way", default=None)
    alternates: tuple[RouteOption, ...] = ()  # that share no node with the best, the cheapest first
    problem: str = ""  # why there is none


class MemberRow(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="member"):
    """Somebody with a valid certificate of the realm."""

    node: NodeName
    reach: Reachability
    roles: tuple[str, ...] = ()
    certificate_ends_at: int = 0
    record_age_s: float | None = None  # since it last told of its links


class RefusalCount(msgspec.Struct, frozen=True):
    """What was not accepted, and from whom."""

    reason: str
    source: str
    count: int


class NodeCounters(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="counters"):
    """What happened since the start. New keys may appear at any time."""

    packets: dict[str, int] = {}  # on routes, by what became of them: sent, delivered, forwarded, …
    dropped: dict[str, int] = {}  # packets on routes, by reason
    datagrams: dict[str, dict[str, int]] = {}  # by class, then by what became of them
    endpoint: dict[str, int] = {}  # packets refused below the mesh, by kind of error
    bytes: dict[str, int] = {}  # relayed for others, and sent to keep the realm in step
    joins: dict[str, int] = {}  # that were refused, by reason
    refused: tuple[RefusalCount, ...] = ()


class PingReply(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="ping"):
    """One ping, answered or not."""

    to: NodeName
    reach: Reachability
    rtt_ms: float | None = None
    over: str = ""  # the address, or the nodes of the route
    problem: str = ""  # why there is no answer


class TraceHop(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="hop"):
    """One node of a route."""

    number: int  # from 1
    node: NodeName
    rtts_ms: tuple[float | None, ...]  # of each probe; None is a lost one
    is_last: bool = False  # it is the one we asked for
    problem: str = ""

    @property
    def is_answered(self) -> bool:
        return any(rtt is not None for rtt in self.rtts_ms)


class ExplanationRow(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="explanation"):
    """Why packets to a member take the route they take."""

    to: NodeName
    source: NodeName | None = msgspec.field(
        name="from", default=None
    )  # None: the node that was asked
    lines: tuple[str, ...]  # for people
    decision: dict[str, object] = {}  # for programs


class NetCheckItem(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="check"):
    """One thing that was looked at."""

    check: str  # stays the same: "tcp-listening", …
    finding: NetCheckResult
    found: str
    advice: str = ""


class ListenerKind(Enum):
    """What a listener accepts, and where it leads."""

    SOCKS = "socks"  # SOCKS5: the program says where to
    HTTP = "http"  # HTTP CONNECT: likewise
    TCP = "tcp"  # always to the same place
    UDP = "udp"
    SERIAL = "serial"  # a line at the exit, as a TCP port here
    REVERSE = "reverse"  # a TCP port of the exit that leads here


class ListenerOpened(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="door"):
    """A listener that is open as long as the requesting connection."""

    kind: ListenerKind
    listening: SockAddress  # at the exit, for a reverse one
    exit: NodeName | None = None  # None: any exit that connects
    to: str = ""  # where it always leads, if anywhere


class ListenerTrouble(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="door-trouble"
):
    """A connection through a listener failed."""

    listening: SockAddress
    problem: str


class ControlStreamOpened(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="stream"):
    """What follows on this connection are the bytes of a stream."""

    to: NodeName
    service: str


Row = (
    NodeStatus
    | PeerRow
    | MemberRouteRow
    | MemberRow
    | NodeCounters
    | PingReply
    | TraceHop
    | ExplanationRow
    | NetCheckItem
    | ListenerOpened
    | ListenerTrouble
    | ControlStreamOpened
    | BenchProgress
    | BenchReport
    | GraphPart
    | QueueRow
    | RequestRow
)


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="snapshot"):
    """Everything at one moment, as `rookery top --json` prints it."""

    status: NodeStatus
    peers: tuple[PeerRow, ...]
    routes: tuple[MemberRouteRow, ...]
    counters: NodeCounters


class ControlledNode(Protocol):
    """A node that can be looked at: what the control socket and the metrics need of it."""

    def status(self) -> NodeStatus: ...
    def peers(self) -> Iterable[PeerRow]: ...

    def routes(self) -> Iterable[MemberRouteRow]:
        """Each worked out when it is taken, for that may cost something in a large realm."""
        ...

    def members(self) -> Iterable[MemberRow]: ...
    def counters(self) -> NodeCounters: ...

    async def ping(self, hashname: str, timeout_s: float) -> PingReply:
        """One ping; without an answer `rtt_ms` is None and `problem` says why."""
        ...

    def trace(self, hashname: str, probes: int, timeout_s: float) -> AsyncIterator[TraceHop]:
        """Hop by hop, as the answers come; UnreachableError when there is no route."""
        ...

    def explain(self, hashname: str, source: str = "") -> ExplanationRow:
        """Why packets take their route there, from here or from another member."""
        ...

    def graph(self) -> Iterable[GraphPart]:
        """The whole mesh as this node knows it, a part at a time."""
        ...

    def netcheck(self) -> tuple[NetCheckItem, ...]: ...
