"""Views of insights; which one an insight has, its table says (`rookery.lake.schema.display`).

days      availability             a strip of days for each device, the worst first
spans     outages, anomalies …     when, on one axis of time, for each entity
week      link_quality             a heat map of the hours of the week, of one link
critical  topology_health …        what cuts off which members, as of the last hour known

Lines over time are in `charts`.
"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from rookery.lake.schema.display import Spans
from rookery.web.insights.lake_reader import VIEW_KEPT_S, HubLakeReader

if TYPE_CHECKING:
    from rookery.lake.schema.table import Table

DAYS = 28
ENTITIES_MAX = 40
SPANS_MAX = 2000
LINKS_MAX = 200
CRITICAL_MAX = 40

_DAYS_SQL = """
WITH days AS (
    SELECT device, date, share, outages, present_us, expected_us, longest_outage_us, reboots
    FROM insights.availability WHERE date > ?
), worst AS (
    SELECT device, sum(present_us) / nullif(sum(expected_us), 0) AS share,
        sum(outages)::BIGINT AS outages, max(longest_outage_us) AS longest_us,
        sum(reboots)::BIGINT AS reboots
    FROM days WHERE ? = '' OR contains(device, ?) GROUP BY device
    ORDER BY share NULLS LAST, device LIMIT ? OFFSET ?
)
SELECT worst.*, list(days.date ORDER BY days.date) AS dates,
    list(days.share ORDER BY days.date) AS shares
FROM worst JOIN days USING (device) GROUP BY ALL ORDER BY worst.share NULLS LAST, device"""
_SLA = """
SELECT count(*) AS weeks, count(*) FILTER (is_met) AS met, any_value(sla_share) AS sla_share
FROM insights.availability_weeks
WHERE week = (SELECT max(week) FROM insights.availability_weeks)"""
_SPANS_SQL = """
SELECT {entity} AS entity, from_at, to_at, {kind} AS kind FROM insights.{name} WHERE {time} > ?"""
_LINKS_SQL = """
SELECT node, peer, max(loss) AS loss, max(rtt_p95_us) AS rtt_us, min(up_share) AS up_share
FROM insights.link_quality GROUP BY node, peer ORDER BY loss DESC, node, peer LIMIT ?"""
_WEEK_SQL = """
SELECT hour_of_week, loss, rtt_p95_us, up_share, samples
FROM insights.link_quality WHERE node = ? AND peer = ? ORDER BY hour_of_week"""
_CRITICAL_SQL = """
SELECT kind, a, b, max(cut_off) AS cut_off, arg_max(nodes, cut_off) AS nodes,
    count(DISTINCT hour) AS hours, epoch(max(hour)) AS last_at, realm
FROM insights.critical_elements WHERE date >= ?
GROUP BY realm, kind, a, b ORDER BY last_at DESC, cut_off DESC, kind, a, b LIMIT ?"""


class DayStrip(msgspec.Struct, frozen=True, kw_only=True):
    """A device's last days."""

    device: str
    share: float | None
    outages: int
    longest_us: int
    reboots: int
    dates: list[date]
    shares: list[float | None]


class InsightDaysView(msgspec.Struct, frozen=True, kw_only=True):
    """Devices by availability, and how many met the objective in the last week."""

    strips: list[DayStrip]
    next: int | None
    weeks: int
    met: int
    sla_share: float | None


class TimeSpan(msgspec.Struct, frozen=True, kw_only=True):
    """One of an entity's, placed on the axis by shares of its length."""

    left: float
    width: float
    kind: str
    since: float
    until: float


class InsightSpansView(msgspec.Struct, frozen=True, kw_only=True):
    """Entities, those with most first, and their spans on one axis."""

    since: float
    until: float
    ticks: list[tuple[float, float]]  # share of the axis, wall seconds
    entities: list[tuple[str, list[TimeSpan]]]
    left_out: int


class LinkName(msgspec.Struct, frozen=True, kw_only=True):
    """A link that can be chosen, with its worst hour."""

    node: str
    peer: str
    loss: float | None
    rtt_us: int | None
    up_share: float | None = None


class WeekHour(msgspec.Struct, frozen=True, kw_only=True):
    """A link at one hour of the week."""

    hour_of_week: int
    loss: float | None
    rtt_p95_us: int | None
    up_share: float | None
    samples: int


class InsightWeekView(msgspec.Struct, frozen=True, kw_only=True):
    """One link, hour by hour, and those that can be chosen instead."""

    link: LinkName
    links: list[LinkName]
    hours: list[WeekHour | None]  # 168


class InsightCriticalView(msgspec.Struct, frozen=True, kw_only=True):
    """Without this node or link, others lose the rest."""

    kind: str
    realm: str
    a: str
    b: str
    cut_off: int
    nodes: list[str]
    hours: int  # in which it was so
    last_at: float


async def days_view(lake: HubLakeReader, last: str, text: str, offset: int) -> InsightDaysView:
    """`last` is the last day that is known."""
    if not last:
        return InsightDaysView(strips=[], next=None, weeks=0, met=0, sla_share=None)
    since = date.fromisoformat(last) - timedelta(days=DAYS)
    part, count = text.lower(), ENTITIES_MAX
    rows = await lake.rows(_DAYS_SQL, since, part, part, count + 1, offset, kept_s=VIEW_KEPT_S)
    strips = [msgspec.convert(row, DayStrip) for row in rows]
    [sla] = await lake.rows(_SLA, kept_s=VIEW_KEPT_S)
    return InsightDaysView(
        strips=strips[:count],
        next=offset + count if len(strips) > count else None,
        weeks=int(str(sla["weeks"])),
        met=int(str(sla["met"])),
        sla_share=None if sla["sla_share"] is None else float(str(sla["sla_share"])),
    )


class _FoundSpan(msgspec.Struct, frozen=True):
    entity: str
    from_at: datetime
    to_at: datetime
    kind: str


async def spans_view(
    lake: HubLakeReader, table: "Table", spans: Spans, last: str, now: datetime, days: int
) -> InsightSpansView:
    """Of a table that says from when to when something was."""
    newest = datetime.fromisoformat(last).replace(tzinfo=now.tzinfo) if last else now
    since = newest - timedelta(days=days)
    floor, time = (since.date(), "date") if table.is_dated else (since, "to_at")
    sql = _SPANS_SQL.format(entity=spans.entity, kind=spans.kind, name=table.name, time=time)
    rows = await lake.rows(sql, floor, rows_max=SPANS_MAX, kept_s=VIEW_KEPT_S)
    found = [msgspec.convert(row, _FoundSpan) for row in rows]
    if not found:
        return InsightSpansView(since=0, until=0, ticks=[], entities=[], left_out=0)
    start = max(since, min(each.from_at for each in found))
    begin, end = start.timestamp(), max(each.to_at for each in found).timestamp()
    length = max(end - begin, 1.0)
    entities: dict[str, list[TimeSpan]] = {}
    for each in sorted(found, key=lambda span: span.from_at):
        left = max(each.from_at.timestamp(), begin)
        until = each.to_at.timestamp()
        if until < begin:
            continue
        entities.setdefault(each.entity, []).append(
            TimeSpan(
                left=(left - begin) / length,
                width=max((until - left) / length, 0.0015),
                kind=each.kind,
                since=each.from_at.timestamp(),
                until=until,
            )
        )
    ranked = sorted(entities.items(), key=lambda pair: (-_total(pair[1]), pair[0]))
    return InsightSpansView(
        since=begin,
        until=end,
        ticks=_ticks(begin, end),
        entities=ranked[:ENTITIES_MAX],
        left_out=max(0, len(ranked) - ENTITIES_MAX),
    )


def _total(spans: Sequence[TimeSpan]) -> float:
    return sum(each.until - each.since for each in spans)


def _ticks(begin: float, end: float) -> list[tuple[float, float]]:
    """Midnights or hours, a handful of them."""
    length = max(end - begin, 1.0)
    steps = (900, 3600, 6 * 3600, 12 * 3600, 86_400, 7 * 86_400)
    step = next((each for each in steps if length / each <= 8), 28 * 86_400)
    first = -(-begin // step) * step
    count = int((end - first) // step) + 1
    return [((first + step * n - begin) / length, first + step * n) for n in range(max(0, count))]


async def week_view(lake: HubLakeReader, node: str, peer: str) -> InsightWeekView | None:
    """The chosen link, else the one with most loss; None: there are none."""
    rows = await lake.rows(_LINKS_SQL, LINKS_MAX, kept_s=VIEW_KEPT_S)
    links = [msgspec.convert(row, LinkName) for row in rows]
    if not links:
        return None
    chosen = next((one for one in links if (one.node, one.peer) == (node, peer)), links[0])
    hours: list[WeekHour | None] = [None] * 168
    for row in await lake.rows(_WEEK_SQL, chosen.node, chosen.peer, kept_s=VIEW_KEPT_S):
        hour = msgspec.convert(row, WeekHour)
        if 0 <= hour.hour_of_week < len(hours):
            hours[hour.hour_of_week] = hour
    return InsightWeekView(link=chosen, links=links, hours=hours)


async def critical_view(lake: HubLakeReader, last: str) -> list[InsightCriticalView]:
    """Nodes and links whose loss cut off members in the last two days known."""
    if not last:
        return []
    since = date.fromisoformat(last) - timedelta(days=1)
    rows = await lake.rows(_CRITICAL_SQL, since, CRITICAL_MAX, kept_s=VIEW_KEPT_S)
    return [msgspec.convert(row, InsightCriticalView) for row in rows]
