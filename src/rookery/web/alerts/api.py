"""API of alerts, for operators: list, acknowledge, mute."""

from typing import Annotated

import msgspec
from litestar.params import FromPath, JSONBody, QueryParameter

from rookery.fleet.alerts.alert import AlertKind, Severity
from rookery.store.alerts.alert import Alert, AlertEvent
from rookery.store.alerts.alerts import AlertFilter, AlertSelection
from rookery.web.accounts.access import may
from rookery.web.accounts.caller import Caller
from rookery.web.alerts.actions import acknowledge, mute
from rookery.web.http.api_routes import get, post
from rookery.web.http.dependencies import TheCaller, TheSite
from rookery.web.http.problems import RequestRefusedError
from rookery.web.http.request import AnyRequest
from rookery.web.http.request_origin import request_origin
from rookery.web.live.topic import LiveTopic, Values
from rookery.web.site import WebSite

_TAGS = ["alerts"]
_ROWS = 100
_ROWS_MAX = 500
_ID_MAX = (1 << 63) - 1
_OVER_SHOWN = 20  # newest of those that are over, in the live topic

Id = Annotated[int, QueryParameter(ge=0, le=_ID_MAX)]


class AlertShown(msgspec.Struct, frozen=True, kw_only=True):
    """An alert; times are wall seconds."""

    id: int
    key: str
    kind: AlertKind
    severity: Severity
    title: str
    cause: str
    entities: tuple[str, ...]
    note: str
    why: str  # it is over, where it did not just go away
    since: float
    raised_at: float
    until: float | None
    acknowledged_by: str
    acknowledged_at: float | None
    muted_by: str
    muted_until: float | None


class AlertWithEvents(msgspec.Struct, frozen=True, kw_only=True):
    """An alert and what happened to it, the oldest first."""

    alert: AlertShown
    events: list[AlertEvent]


class AlertMuteRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """For how long no notifications are sent; 0: they are sent again."""

    seconds: Annotated[float, msgspec.Meta(ge=0, le=366 * 86_400)]


def shown(alert: Alert) -> AlertShown:
    """As operators see it."""
    detail = alert.detail
    return AlertShown(
        id=alert.id,
        key=alert.key,
        kind=alert.kind,
        severity=alert.severity,
        title=alert.title,
        cause=detail.cause,
        entities=detail.entities,
        note=detail.note,
        why=detail.why,
        since=alert.since,
        raised_at=alert.raised_at,
        until=alert.until,
        acknowledged_by=alert.acknowledged_by,
        acknowledged_at=alert.acknowledged_at,
        muted_by=alert.muted_by,
        muted_until=alert.muted_until,
    )


@get("/alerts", opt=may("operator", "read"), tags=_TAGS, summary="What is the matter, and was")
async def list_alerts(
    site: TheSite,
    which: Annotated[AlertSelection, QueryParameter()] = "all",
    severity: Annotated[Severity | None, QueryParameter()] = None,
    kind: Annotated[AlertKind | None, QueryParameter()] = None,
    before: Annotated[int | None, QueryParameter(ge=0, le=_ID_MAX)] = None,
    count: Annotated[int, QueryParameter(ge=1, le=_ROWS_MAX)] = _ROWS,
) -> list[AlertShown]:
    """The newest first; `before` is the last id of the page before."""
    wanted = AlertFilter(which=which, severity=severity or "", kind=kind or "")
    found = await site.alerts.latest(wanted, before=before, limit=count)
    return [shown(each) for each in found]


@get("/alerts/{number:int}", opt=may("operator", "read"), tags=_TAGS, summary="One, with its story")
async def get_alert(number: FromPath[int], site: TheSite) -> AlertWithEvents:
    alert = await site.alerts.get(min(number, _ID_MAX))
    if alert is None:
        raise RequestRefusedError(404, "unknown", "there is no such alert")
    return AlertWithEvents(alert=shown(alert), events=await site.alerts.events(alert.id))


@post("/alerts/{number:int}/acknowledge", opt=may("operator", "write"), tags=_TAGS, status_code=200)
async def acknowledge_alert(
    request: AnyRequest, number: FromPath[int], caller: TheCaller, site: TheSite
) -> AlertShown:
    """Take charge of it; the first account to do so remains in charge."""
    return shown(await acknowledge(site, caller, number, request_origin(request, site)))


@post("/alerts/{number:int}/mute", opt=may("operator", "write"), tags=_TAGS, status_code=200)
async def mute_alert(
    request: AnyRequest,
    number: FromPath[int],
    data: JSONBody[AlertMuteRequest],
    caller: TheCaller,
    site: TheSite,
) -> AlertShown:
    """Send no notifications for a while, even if it ends and comes back."""
    return shown(await mute(site, caller, number, data.seconds, request_origin(request, site)))


async def _read(site: WebSite, _caller: Caller) -> Values:
    """All that are open, and the last that are over, so that pages see them end."""
    opened = await site.alerts.open()
    over = await site.alerts.latest(AlertFilter(which="over"), limit=_OVER_SHOWN)
    return {str(each.id): shown(each) for each in (*opened, *over)}


HANDLERS = (list_alerts, get_alert, acknowledge_alert, mute_alert)
TOPICS = (LiveTopic("alerts", "operator", _read, is_shared=True, every_s=1.0),)
