"""A node to look at, without a mesh below it: alice, next to bob, through whom carol is reached.

It stands for the real node where a test needs answers that it can foretell.
"""

import asyncio
from collections.abc import AsyncIterator

import msgspec

from rookery.errors import UnreachableError
from rookery.runtime.node.members import (
    GraphLink,
    GraphLinkState,
    GraphMember,
    GraphPart,
    NodeName,
    Reachability,
)
from rookery.runtime.node.snapshot import (
    ExplanationRow,
    MemberRouteRow,
    MemberRow,
    NetCheckItem,
    NetCheckResult,
    NodeCounters,
    NodeStatus,
    PeerPathRow,
    PeerPathState,
    PeerRow,
    PeerState,
    PingReply,
    RefusalCount,
    RouteOption,
    TraceHop,
)

ALICE = NodeName("a" * 52, "alice")
BOB = NodeName("b" * 52, "bob")
CAROL = NodeName("c" * 51 + "a", "carol")
CAROLINE = NodeName("c" * 51 + "b", "caroline")
DAVE = NodeName("d" * 52)

STATUS = NodeStatus(
    hashname=ALICE.hashname,
    name="alice",
    realm="home",
    roles=("relay",),
    version="0.1.0",
    build="compiled, Python 3.11",
    pid=4242,
    made_at=1_700_000_000.0,
    uptime_s=93_784.0,
    worked_ago_s=0.2,
    listening=("tcp4:127.0.0.1:7001", "udp4:127.0.0.1:7001"),
    members=5,
    peers=2,
    peers_up=1,
    routes=3,
    certificate_ends_at=1_800_000_000,
    is_ready=True,
)

BOB_PEER = PeerRow(
    node=BOB,
    state=PeerState.UP,
    roles=("relay",),
    cost_us=900,
    rtt_ms=0.412,
    jitter_ms=0.05,
    loss_out=0.0,
    loss_in=0.01,
    rate_bytes_s=12_000_000,
    in_bytes=2_000_000,
    out_bytes=1_000,
    state_since_s=60.0,
    paths=(
        PeerPathRow(
            address="127.0.0.1:7002",
            transport="tcp4",
            state=PeerPathState.UP,
            is_used=True,
            rtt_ms=0.412,
            jitter_ms=0.05,
            loss_out=0.0,
            loss_in=0.0,
        ),
        PeerPathRow(
            address="127.0.0.1:7002",
            transport="udp4",
            state=PeerPathState.DOWN,
            last_error="no answer to 1200 bytes",
        ),
    ),
)
DAVE_PEER = PeerRow(
    node=DAVE,
    state=PeerState.DOWN,
    state_since_s=5.0,
    last_error="the last path is gone",
    last_error_at=1_699_999_995.0,
)

ROUTES = (
    MemberRouteRow(to=BOB, reach=Reachability.DIRECT, best=RouteOption((ALICE, BOB), 900)),
    MemberRouteRow(
        to=CAROL,
        reach=Reachability.ROUTE,
        best=RouteOption((ALICE, BOB, CAROL), 2300),
        alternates=(RouteOption((ALICE, CAROLINE, CAROL), 5100),),
    ),
    MemberRouteRow(to=DAVE, reach=Reachability.NONE, problem="nobody has a link with it"),
)

COUNTERS = NodeCounters(
    packets={"sent": 12, "forwarded": 7},
    dropped={"no route": 2},
    datagrams={"fallback": {"udp": 5, "dropped": 1}},
    endpoint={"DecodeError": 4},
    bytes={"relayed": 8400},
    joins={"unknown invitation": 6},
    refused=(RefusalCount("stale record", "dave", 3),),
)

GRAPH = (
    GraphPart(
        at=1_700_000_000.0,
        members=(
            GraphMember(hashname=ALICE.hashname, name="alice", reach=Reachability.SELF),
            GraphMember(
                hashname=BOB.hashname, name="bob", roles=("relay",), reach=Reachability.DIRECT
            ),
            GraphMember(hashname=CAROL.hashname, name="carol", reach=Reachability.ROUTE),
        ),
    ),
    GraphPart(
        at=1_700_000_000.0,
        links=(
            GraphLink(
                a=ALICE.hashname,
                b=BOB.hashname,
                state=GraphLinkState.UP,
                cost_us=900,
                cost_ab_us=900,
                cost_ba_us=800,
                loss_ab=0.0,
                loss_ba=0.01,
                rate_ab_bytes_s=12_000_000,
                rtt_ms=0.412,
                claimed_at=1_699_999_990,
            ),
            GraphLink(
                a=BOB.hashname, b=CAROL.hashname, state=GraphLinkState.ONE_WAY, cost_ab_us=1400
            ),
        ),
    ),
)

CHECKS = (
    NetCheckItem(check="tcp-listening", finding=NetCheckResult.OK, found="127.0.0.1:7001"),
    NetCheckItem(
        check="udp-beside",
        finding=NetCheckResult.WARNING,
        found="up with 0 of 1 peers",
        advice="let UDP through to the same port as TCP",
    ),
)


class Colony:
    """Answers as it is told to; its fields may be set at any time."""

    def __init__(self) -> None:
        self.now_status = STATUS
        self.now_peers: tuple[PeerRow, ...] = (BOB_PEER, DAVE_PEER)
        self.now_routes: tuple[MemberRouteRow, ...] = ROUTES
        self.checks: tuple[NetCheckItem, ...] = CHECKS
        self.pings: list[PingReply] = []  # to be given out; the last one again and again
        self.requests: list[tuple[str, float]] = []
        self.is_frozen = False

    def status(self) -> NodeStatus:
        return self.now_status

    def peers(self) -> tuple[PeerRow, ...]:
        return self.now_peers

    def routes(self) -> tuple[MemberRouteRow, ...]:
        return self.now_routes

    def members(self) -> tuple[MemberRow, ...]:
        reaches = {
            ALICE: Reachability.SELF,
            BOB: Reachability.DIRECT,
            CAROL: Reachability.ROUTE,
            CAROLINE: Reachability.ROUTE,
            DAVE: Reachability.NONE,
        }
        return tuple(MemberRow(node=who, reach=reach) for who, reach in reaches.items())

    def counters(self) -> NodeCounters:
        return COUNTERS

    async def ping(self, hashname: str, timeout_s: float) -> PingReply:
        self.requests.append((hashname, timeout_s))
        if self.is_frozen:
            await asyncio.get_running_loop().create_future()
        if not self.pings:
            over = "tcp4:127.0.0.1:7002"
            return PingReply(to=BOB, reach=Reachability.DIRECT, rtt_ms=0.4, over=over)
        return self.pings.pop(0) if len(self.pings) > 1 else self.pings[0]

    async def trace(self, hashname: str, probes: int, timeout_s: float) -> AsyncIterator[TraceHop]:
        self.requests.append((hashname, timeout_s))
        if hashname == DAVE.hashname:
            raise UnreachableError("there is no way to dddddddd")
        yield TraceHop(number=1, node=BOB, rtts_ms=(0.4,) * probes)
        await asyncio.sleep(0)
        rtts = (None, *(1.1,) * (probes - 1))
        yield TraceHop(number=2, node=CAROL, rtts_ms=rtts, is_last=True)

    def explain(self, hashname: str, source: str = "") -> ExplanationRow:
        to = self._who(hashname)
        return ExplanationRow(
            to=to,
            source=self._who(source or ALICE.hashname),
            lines=(f"{to}: over bob", "  candidate 2 lost: it costs 2.2 × the best"),
            decision={"chosen": 0, "candidates": [{"cost_us": 2300}, {"cost_us": 5100}]},
        )

    def _who(self, hashname: str) -> NodeName:
        (found,) = (member.node for member in self.members() if member.node.hashname == hashname)
        return found

    def graph(self) -> tuple[GraphPart, ...]:
        return GRAPH

    def netcheck(self) -> tuple[NetCheckItem, ...]:
        return self.checks

    def changed(self, **fields: object) -> None:
        """The same node with another status."""
        self.now_status = msgspec.structs.replace(self.now_status, **fields)
