"""The mesh at a past time, from the lake, in the schema of the live mesh.

    edges     facts/topology_edges   what both ends claimed then
    figures   facts/link_samples     of the minutes before, for the last days
              facts/link_hours       of that hour, for what is older or too much to look through

Members and links of that day are all there; those that were not up then are shown so.
"""

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from rookery.web.insights.lake_reader import VIEW_KEPT_S, HubLakeReader, Row
from rookery.web.mesh.graph import LinkShown, LinkState, MemberShown, MeshGraphShown

if TYPE_CHECKING:
    from rookery.lake.query.query_session import TableFreshness

STEP_S = 300
SAMPLES_DAYS = 3  # how far back single samples are looked at
SAMPLES_ROWS_MAX = 150_000  # of a day
LINKS_MAX = 20_000
_BEFORE = timedelta(seconds=900)  # within which a sample tells of now
_PPM = 1e6

_SPAN = """
SELECT epoch(min(from_at)) AS since, epoch(max(to_at)) AS until
FROM facts.topology_edges WHERE date IN (?, ?)"""
_EDGES = """
SELECT a, b,
    bool_or(from_at <= ? AND to_at > ?) AS is_held,
    max(cost_ab_us) FILTER (from_at <= ? AND to_at > ?) AS cost_ab_us,
    max(cost_ba_us) FILTER (from_at <= ? AND to_at > ?) AS cost_ba_us,
    epoch(max(from_at) FILTER (from_at <= ?)) AS claimed_at
FROM facts.topology_edges WHERE date = ? GROUP BY a, b"""
_SAMPLES = """
SELECT node, peer, rtt_us, loss_in_ppm, loss_out_ppm, rate_bps, cost_us, is_up,
    epoch("at") AS seen_at
FROM facts.link_samples
WHERE date IN (?, ?) AND "at" > ? AND "at" <= ? AND realm <> ''
QUALIFY row_number() OVER (PARTITION BY node, peer ORDER BY "at" DESC) = 1"""
_HOURS = """
SELECT node, peer, rtt_us_sum // nullif(rtt_samples, 0) AS rtt_us,
    NULL AS loss_in_ppm, loss_ppm_sum / nullif(loss_samples, 0) AS loss_out_ppm,
    rate_bps_max AS rate_bps, cost_us_sum // nullif(cost_samples, 0) AS cost_us,
    2 * up_samples >= samples AS is_up, epoch(hour) AS seen_at
FROM facts.link_hours WHERE date = ? AND hour = ? AND realm <> ''"""
_PLACES = "SELECT hashname, site FROM insights.places WHERE site IS NOT NULL"


class MeshHistorySpan(msgspec.Struct, frozen=True, kw_only=True):
    """From when to when the mesh is known, in wall seconds; None: it is not."""

    since: float | None = msgspec.field(name="from")
    until: float | None = msgspec.field(name="to")
    step_s: int = STEP_S


class _LinkSide(msgspec.Struct, frozen=True):
    """A link as one end measured it."""

    rtt_us: float | None
    loss_in_ppm: float | None
    loss_out_ppm: float | None
    rate_bps: float | None
    cost_us: int | None
    is_up: bool | None
    seen_at: float


class _ClaimedLink(msgspec.Struct, frozen=True):
    """A link as both ends claimed it that day."""

    is_held: bool = False
    cost_ab_us: int | None = None
    cost_ba_us: int | None = None
    claimed_at: float | None = None


async def span(lake: HubLakeReader) -> MeshHistorySpan:
    """What the slider goes from and to."""
    edges = (await lake.freshness()).get("facts/topology_edges")
    if edges is None or not edges.first:
        return MeshHistorySpan(since=None, until=None)
    [row] = await lake.rows(_SPAN, edges.first, edges.last)
    found = msgspec.convert(row, dict[str, float | None])
    return MeshHistorySpan(since=found["since"], until=found["until"])


async def graph_then(
    lake: HubLakeReader, at: datetime, known: Iterable[MemberShown] = ()
) -> MeshGraphShown:
    """The mesh at that time; names are those of members that are known now."""
    day = at.date()
    held, measured, placed = await asyncio.gather(
        lake.rows(_EDGES, *[at] * 7, day, rows_max=LINKS_MAX),
        _figures(lake, at),
        lake.rows(_PLACES, rows_max=LINKS_MAX, kept_s=VIEW_KEPT_S),
    )
    edges = {
        (str(row["a"]), str(row["b"])): msgspec.convert(row, _ClaimedLink, strict=False)
        for row in held
    }
    sides = {
        (str(row["node"]), str(row["peer"])): msgspec.convert(row, _LinkSide, strict=False)
        for row in measured
    }
    pairs = sorted({*edges, *(_ordered(*ends) for ends in sides)})
    links = [_link(pair, edges.get(pair, _ClaimedLink()), sides, at.timestamp()) for pair in pairs]
    sites = {str(row["hashname"]): str(row["site"]) for row in placed}
    members = _members(links, {each.hashname: each for each in known}, sites)
    return MeshGraphShown(at=at.timestamp(), members=members, links=tuple(links))


async def _figures(lake: HubLakeReader, at: datetime) -> list[Row]:
    """From single samples if they are few enough, else from hourly sums."""
    samples = (await lake.freshness()).get("facts/link_samples")
    if samples is not None and _is_quick(samples, at):
        since = at - _BEFORE
        return await lake.rows(_SAMPLES, at.date(), since.date(), since, at, rows_max=LINKS_MAX)
    hour = at.replace(minute=0, second=0, microsecond=0)
    return await lake.rows(_HOURS, at.date(), hour, rows_max=LINKS_MAX)


def _is_quick(samples: "TableFreshness", at: datetime) -> bool:
    if not samples.first:
        return False
    first, last = (
        datetime.fromisoformat(each).replace(tzinfo=UTC) for each in (samples.first, samples.last)
    )
    days = (last - first).days + 1
    is_young = last - at < timedelta(days=SAMPLES_DAYS)
    return is_young and samples.rows <= days * SAMPLES_ROWS_MAX


def _link(
    pair: tuple[str, str], edge: _ClaimedLink, sides: dict[tuple[str, str], _LinkSide], now: float
) -> LinkShown:
    a, b = pair
    there, back = sides.get((a, b)), sides.get((b, a))
    seen = [each for each in (there, back) if each is not None]
    rtts = [each.rtt_us for each in seen if each.rtt_us is not None]
    rates = [each.rate_bps for each in seen if each.rate_bps is not None]
    ages = [now - each.seen_at for each in seen] or _known(
        None if edge.claimed_at is None else now - edge.claimed_at
    )
    return LinkShown(
        a=a,
        b=b,
        rtt_ms=round(sum(rtts) / len(rtts) / 1000, 3) if rtts else None,
        loss_ab=_loss(there, back),
        loss_ba=_loss(back, there),
        cost_ab_us=edge.cost_ab_us if there is None else there.cost_us or edge.cost_ab_us,
        cost_ba_us=edge.cost_ba_us if back is None else back.cost_us or edge.cost_ba_us,
        rate_bytes_s=int(max(rates) / 8) if rates else None,
        state=_state(edge, there, back),
        age_s=round(max(ages), 1) if ages else None,
    )


def _loss(sender: _LinkSide | None, receiver: _LinkSide | None) -> float | None:
    """Loss in one direction, by the receiver if it measured."""
    if receiver is not None and receiver.loss_in_ppm is not None:
        return receiver.loss_in_ppm / _PPM
    if sender is not None and sender.loss_out_ppm is not None:
        return sender.loss_out_ppm / _PPM
    return None


def _state(edge: _ClaimedLink, there: _LinkSide | None, back: _LinkSide | None) -> LinkState:
    """By measurements; if only one end measured, the other one's report counts."""
    ups = [edge.is_held if each is None else bool(each.is_up) for each in (there, back)]
    if all(ups):
        return "up"
    return "one-way" if any(ups) else "down"


def _members(
    links: Iterable[LinkShown], known: dict[str, MemberShown], sites: dict[str, str]
) -> tuple[MemberShown, ...]:
    ages: dict[str, list[float]] = {}
    for link in links:
        for name in (link.a, link.b):
            ages.setdefault(name, []).extend(_known(link.age_s if link.state == "up" else None))
    return tuple(
        MemberShown(
            hashname=name,
            name=known[name].name if name in known else name[:8],
            site=known[name].site if name in known else sites.get(name, ""),
            roles=known[name].roles if name in known else (),
            is_up=bool(seen),
            age_s=min(seen, default=None),
        )
        for name, seen in sorted(ages.items())
    )


def _known(value: float | None) -> list[float]:
    return [] if value is None else [value]


def _ordered(a: str, b: str) -> tuple[str, str]:
    return (a, b) if a < b else (b, a)
