"""How full servers were and will be, hour by hour, for charts: from the lake, or from the forecast
that the hub follows where there is no lake."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Literal

import msgspec

from rookery.fleet.entry import server_id
from rookery.web.insights.lake_reader import HubLakeReader, LakeUnavailableError
from rookery.web.site import WebSite
from rookery.wire.fleet.mac import mac_text

PAST = timedelta(hours=36)
AHEAD = timedelta(hours=36)
SERVERS_MAX = 200
_ROWS_MAX = SERVERS_MAX * 96

_WAS = """
SELECT reporter AS server, epoch(hour) AS "at",
    seats_used_sum / nullif(reports * seats_max, 0) AS share
FROM facts.server_hours WHERE date >= ? AND hour > ? ORDER BY hour"""
_WILL_BE = """
SELECT server, epoch(hour) AS "at", share, high_share, confidence
FROM insights.server_load_forecast WHERE hour > ? AND hour < ? ORDER BY hour"""

Source = Literal["lake", "forecast", "none"]


class ServerLoadChart(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of a server's seats; hours that something is not known of are null there."""

    hashname: str
    id: str
    source: Source  # of what is expected
    confidence: float | None
    times: list[float]  # wall seconds
    was: list[float | None]
    expected: list[float | None]
    high: list[float | None]  # nine times of ten no more


class _ServerLoadPoint(msgspec.Struct, frozen=True):
    server: str
    at: float
    share: float | None
    high_share: float | None = None
    confidence: float | None = None


async def load_charts(site: WebSite, hashnames: Iterable[str]) -> list[ServerLoadChart]:
    """Of these servers; a lake that is away leaves what the hub itself knows."""
    ids = {mac_text(server_id(name)): name for name in list(hashnames)[:SERVERS_MAX]}
    now = datetime.fromtimestamp(site.wall(), UTC)
    was: dict[str, list[_ServerLoadPoint]] = {}
    will_be: dict[str, list[_ServerLoadPoint]] = {}
    if site.lake is not None:
        try:
            was, will_be = await _from_lake(site.lake, now)
        except LakeUnavailableError:
            was, will_be = {}, {}
    return [_load_chart(site, each, name, was, will_be) for each, name in ids.items()]


async def _from_lake(
    lake: HubLakeReader, now: datetime
) -> tuple[dict[str, list[_ServerLoadPoint]], dict[str, list[_ServerLoadPoint]]]:
    hour = now.replace(minute=0, second=0, microsecond=0)
    since = hour - PAST
    past = await lake.rows(_WAS, since.date(), since, rows_max=_ROWS_MAX)
    ahead = await lake.rows(_WILL_BE, since, hour + AHEAD, rows_max=_ROWS_MAX)
    found: list[dict[str, list[_ServerLoadPoint]]] = []
    for rows in (past, ahead):
        points: dict[str, list[_ServerLoadPoint]] = {}
        for row in rows:
            point = msgspec.convert(row, _ServerLoadPoint)
            points.setdefault(point.server, []).append(point)
        found.append(points)
    return found[0], found[1]


def _load_chart(
    site: WebSite,
    id_: str,
    hashname: str,
    was: dict[str, list[_ServerLoadPoint]],
    will_be: dict[str, list[_ServerLoadPoint]],
) -> ServerLoadChart:
    past, ahead = was.get(id_, []), will_be.get(id_, [])
    source: Source = "lake" if ahead else "none"
    if not ahead and (followed := _followed(site, hashname)):
        ahead, source = followed, "forecast"
    times = sorted({each.at for each in (*past, *ahead)})
    known = {each.at: each for each in past}
    expected = {each.at: each for each in ahead}
    return ServerLoadChart(
        hashname=hashname,
        id=id_,
        source=source,
        confidence=ahead[0].confidence if ahead else None,
        times=times,
        was=[known[at].share if at in known else None for at in times],
        expected=[expected[at].share if at in expected else None for at in times],
        high=[expected[at].high_share if at in expected else None for at in times],
    )


def _followed(site: WebSite, hashname: str) -> list[_ServerLoadPoint]:
    said = site.hub.forecasts.expected(hashname)
    if said is None:
        return []
    now, points = site.wall(), []
    for number, share in enumerate(said.shares):
        at = said.start_ms / 1000 + number * said.step_s
        if now - said.step_s <= at < now + AHEAD.total_seconds():
            points.append(_ServerLoadPoint(hashname, at, share, None, said.confidence))
    return points
