"""The overview: how the fleet is, in a dozen figures, each with where to look further.

Everything is optional but the hub itself: what is not there is None, with a problem where there is
one to tell, and the page says what to start. Times instead of ages, so that nothing changes while
nothing happens.
"""

from collections.abc import Iterable

import msgspec

from rookery.errors import RookeryError, UnreachableError
from rookery.store.alerts.alerts import Alerts
from rookery.web.mesh.graph import LinkShown, MeshGraphShown
from rookery.web.overview.events import RecentEventShown, recent_events
from rookery.web.overview.lake_summary import LakeSummary, lake_summary
from rookery.web.overview.presence import Presence
from rookery.web.servers.load_chart import load_charts
from rookery.web.servers.status import ServerForecastShown, ServerShown, forecast_now, servers_now
from rookery.web.site import WebSite

WORST_MAX = 5
SOON_S = 6 * 3600
RTT_POOR_MS = 150.0
LOSS_POOR = 0.02


class ServersSummary(msgspec.Struct, frozen=True, kw_only=True):
    """All servers together."""

    servers: int
    silent: int
    draining: int
    seats_used: int
    reserved: int
    seats_max: int
    expected_share: float | None = None  # the most within six hours
    expected_at: float | None = None
    forecast: ServerForecastShown


class WorstLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link that is down, or loses, or is slow."""

    a: str
    b: str
    a_name: str
    b_name: str
    state: str
    loss: float | None
    rtt_ms: float | None


class MeshSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The mesh as the hub's node sees it."""

    members: int
    up: int
    links: int
    links_up: int
    worst: list[WorstLink]


class BacklogSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What waits somewhere."""

    spool_bytes: int
    unlanded_bytes: int | None
    is_full: bool
    unsaved_entries: int
    requests: int | None = None  # in the node's outboxes; None: there is no node
    request_bytes: int | None = None


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The fleet, now."""

    devices: Presence = msgspec.field(name="routers")
    servers: ServersSummary
    incidents: dict[str, int]  # open ones by severity
    mesh: MeshSummary | None
    mesh_problem: str
    backlog: BacklogSummary
    lake: LakeSummary | None
    lake_problem: str
    events: list[RecentEventShown]


async def overview_now(site: WebSite) -> Overview:
    """Read the hub's stores, and mesh node and lake if there are any."""
    mesh, queues, mesh_problem = await _mesh(site)
    lake, lake_problem = await _lake(site)
    backlog = site.hub.backlog
    return Overview(
        devices=await site.presence.count(site),
        servers=await _servers(site),
        incidents=await Alerts(site.hub.database).count_open(),
        mesh=mesh,
        mesh_problem=mesh_problem,
        backlog=BacklogSummary(
            spool_bytes=backlog.spool_bytes,
            unlanded_bytes=backlog.unlanded_bytes,
            is_full=backlog.is_full,
            unsaved_entries=backlog.unsaved_entries,
            requests=None if queues is None else queues[0],
            request_bytes=None if queues is None else queues[1],
        ),
        lake=lake,
        lake_problem=lake_problem,
        events=await recent_events(site),
    )


async def _servers(site: WebSite) -> ServersSummary:
    servers = await servers_now(site)
    serving = [one for one in servers if one.state != "silent"]
    share, at = await _fullest(site, serving)
    return ServersSummary(
        servers=len(serving),
        silent=len(servers) - len(serving),
        draining=sum(one.is_draining for one in serving),
        seats_used=sum(one.seats_used for one in serving),
        reserved=sum(one.reserved for one in serving),
        seats_max=sum(one.seats_max for one in serving),
        expected_share=share,
        expected_at=at,
        forecast=forecast_now(site),
    )


async def _fullest(site: WebSite, servers: list[ServerShown]) -> tuple[float | None, float | None]:
    """How full all of them together will be at most, and when; by the seats that each offers."""
    seats = {one.hashname: one.seats_max for one in servers}
    now, taken, offered = site.wall(), dict[float, float](), dict[float, int]()
    for each in await load_charts(site, seats):
        for at, share in zip(each.times, each.expected, strict=True):
            if share is not None and now < at + 3600 and at < now + SOON_S:
                taken[at] = taken.get(at, 0.0) + share * seats[each.hashname]
                offered[at] = offered.get(at, 0) + seats[each.hashname]
    shares = {at: taken[at] / offered[at] for at in taken if offered[at]}
    if not shares:
        return None, None
    fullest = max(shares, key=lambda at: (shares[at], -at))
    return round(shares[fullest], 4), fullest


async def _mesh(site: WebSite) -> tuple[MeshSummary | None, tuple[int, int] | None, str]:
    if site.mesh is None:
        return None, None, ""
    try:
        graph, queues = await site.mesh.graph(), await site.mesh.queues()
    except UnreachableError as error:
        return None, None, str(error)
    waiting = sum(each.requests for each in queues), sum(each.bytes for each in queues)
    return _mesh_summary(graph), waiting, ""


def _mesh_summary(graph: MeshGraphShown) -> MeshSummary:
    names = {one.hashname: one.name for one in graph.members}
    poor = sorted((link for link in graph.links if _is_poor(link)), key=_badness, reverse=True)
    return MeshSummary(
        members=len(graph.members),
        up=sum(one.is_up for one in graph.members),
        links=len(graph.links),
        links_up=sum(link.state == "up" for link in graph.links),
        worst=[
            WorstLink(
                a=link.a,
                b=link.b,
                a_name=names.get(link.a, link.a[:8]),
                b_name=names.get(link.b, link.b[:8]),
                state=link.state,
                loss=_rounded(_known_max((link.loss_ab, link.loss_ba)), 3),
                rtt_ms=_rounded(link.rtt_ms, 0),
            )
            for link in poor[:WORST_MAX]
        ],
    )


def _is_poor(link: LinkShown) -> bool:
    loss = _known_max((link.loss_ab, link.loss_ba)) or 0.0
    return link.state != "up" or loss >= LOSS_POOR or (link.rtt_ms or 0.0) >= RTT_POOR_MS


def _badness(link: LinkShown) -> tuple[int, float, float]:
    down = {"down": 2, "one-way": 1}.get(link.state, 0)
    return down, _known_max((link.loss_ab, link.loss_ba)) or 0.0, link.rtt_ms or 0.0


async def _lake(site: WebSite) -> tuple[LakeSummary | None, str]:
    if site.lake is None:
        return None, ""
    try:
        return await lake_summary(site.lake), ""
    except RookeryError as error:
        return None, str(error)


def _known_max(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
