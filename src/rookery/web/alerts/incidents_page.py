"""Pages of incidents: the list, and each with its events; acknowledging and muting."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import cast, get_args
from urllib.parse import urlencode

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath
from litestar.response import Redirect

from rookery.errors import UsageError
from rookery.fleet.alerts.alert import RANKS, AlertKind
from rookery.store.alerts.alert import Alert
from rookery.store.alerts.alerts import AlertFilter, AlertSelection
from rookery.web.accounts.access import may
from rookery.web.accounts.preferences import language_of
from rookery.web.alerts.actions import acknowledge, mute
from rookery.web.alerts.entity_links import AlertEntityShown, map_url, names_of
from rookery.web.alerts.entity_links import shown as entity_shown
from rookery.web.alerts.timeline import alert_timeline
from rookery.web.alerts.titles import translated
from rookery.web.http.dependencies import TheCaller, TheSite
from rookery.web.http.problems import RequestRefusedError
from rookery.web.http.request import AnyRequest
from rookery.web.http.request_origin import request_origin
from rookery.web.pages.forms import form_fields
from rookery.web.pages.rendering import page
from rookery.web.words.translation import PageTranslation

ROWS = 30
CHIPS_MAX = 6
KINDS: tuple[AlertKind, ...] = get_args(AlertKind)
_STRIP_ROWS = 200
_ID_MAX = (1 << 63) - 1
_MUTE_S_MAX = 366 * 86_400


class IncidentShown(msgspec.Struct, frozen=True, kw_only=True):
    """An alert, ready to be shown."""

    alert: Alert
    title: str
    note: str
    why: str
    cause: AlertEntityShown | None
    entities: list[AlertEntityShown]
    more: int  # entities that are not among these
    is_muted: bool
    version: str  # changes with what is shown
    map_url: str


class IncidentQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The query of the list; invalid values are ignored."""

    wanted: AlertFilter
    before: int | None

    @property
    def query(self) -> dict[str, str]:
        wanted = self.wanted
        pairs = {"which": wanted.which, "severity": wanted.severity, "kind": wanted.kind}
        return {name: value for name, value in pairs.items() if value and value != "all"}


@get("/fleet/incidents", opt=may("operator"), include_in_schema=False)
async def incidents_page(request: AnyRequest, site: TheSite) -> Response[str]:
    """Open incidents, worst first, then past ones; with `part=list` only the lists."""
    query, now, texts = _incident_query(request), site.wall(), PageTranslation(language_of(request))
    opened = await site.alerts.open() if query.wanted.which != "over" else []
    opened = [each for each in opened if _is_wanted(each, query.wanted)]
    opened.sort(key=lambda each: (-RANKS[each.severity], -each.since))
    over: list[Alert] = []
    if query.wanted.which != "open":
        closed = msgspec.structs.replace(query.wanted, which="over")
        over = await site.alerts.latest(closed, before=query.before, limit=ROWS + 1)
    names = await names_of(site, [*opened, *over])
    values: dict[str, object] = {
        "query": query.wanted,
        "kinds": KINDS,
        "opened": [_shown(each, names, texts, now) for each in opened],
        "over": [_shown(each, names, texts, now) for each in over[:ROWS]],
        "next_url": _next_url(query, over),
        "now": now,
    }
    if request.query_params.get("part") == "list":
        return page(request, "parts/incident_list.html", values)
    recent = await site.alerts.latest(AlertFilter(), limit=_STRIP_ROWS)
    values |= {
        "strip": alert_timeline(recent, now),
        "titles": {each.id: translated(each.title, texts) for each in recent},
        "channels": site.alerting.channels,
    }
    url = f"/api/v1/alerts?{urlencode(query.query)}".rstrip("?")
    return page(request, "incidents.html", values, cli="rookery fleet alerts", json=url)


@get("/fleet/incidents/{number:int}", opt=may("operator"), include_in_schema=False)
async def incident_page(request: AnyRequest, number: FromPath[int], site: TheSite) -> Response[str]:
    """One incident, with its entities and events."""
    found = await site.alerts.get(min(number, _ID_MAX))
    if found is None:
        raise RequestRefusedError(404, "unknown", "there is no such incident")
    names = await names_of(site, [found])
    texts, now = PageTranslation(language_of(request)), site.wall()
    values = {
        "incident": _shown(found, names, texts, now, chips_max=len(found.detail.entities)),
        "events": await site.alerts.events(found.id),
        "now": now,
    }
    json = f"/api/v1/alerts/{found.id}"
    template = "incident.html"
    if request.query_params.get("part") == "story":
        template = "parts/incident_story.html"
    return page(request, template, values, cli=f"rookery fleet alerts {found.id}", json=json)


@post("/fleet/incidents/{number:int}/acknowledge", opt=may("operator"), include_in_schema=False)
async def acknowledge_incident(
    request: AnyRequest, number: FromPath[int], caller: TheCaller, site: TheSite
) -> Redirect:
    await acknowledge(site, caller, number, request_origin(request, site))
    return Redirect(_back(request, number), status_code=303)


@post("/fleet/incidents/{number:int}/mute", opt=may("operator"), include_in_schema=False)
async def mute_incident(
    request: AnyRequest, number: FromPath[int], caller: TheCaller, site: TheSite
) -> Redirect:
    """For `seconds`, or until a time of UTC."""
    fields = await form_fields(request)
    text, until = fields.optional("seconds"), fields.optional("until")
    seconds = _seconds(text) if text else _until(until) - site.wall()
    if not 0 <= seconds <= _MUTE_S_MAX:
        raise UsageError("mute until a time of the next year")
    await mute(site, caller, number, seconds, request_origin(request, site))
    return Redirect(_back(request, number), status_code=303)


def _incident_query(request: AnyRequest) -> IncidentQuery:
    query = request.query_params
    which, severity, kind = (str(query.get(name, "")) for name in ("which", "severity", "kind"))
    before = str(query.get("before", ""))
    return IncidentQuery(
        wanted=AlertFilter(
            which=cast("AlertSelection", which) if which in ("open", "over") else "all",
            severity=severity if severity in RANKS else "",
            kind=kind if kind in KINDS else "",
        ),
        before=min(int(before), _ID_MAX) if before.isascii() and before.isdecimal() else None,
    )


def _is_wanted(alert: Alert, wanted: AlertFilter) -> bool:
    return wanted.severity in ("", alert.severity) and wanted.kind in ("", alert.kind)


def _next_url(query: IncidentQuery, over: Sequence[Alert]) -> str:
    if len(over) <= ROWS:
        return ""
    return "?" + urlencode({**query.query, "which": "over", "before": over[ROWS - 1].id})


def _shown(
    alert: Alert,
    names: dict[str, str],
    texts: PageTranslation,
    now: float,
    chips_max: int = CHIPS_MAX,
) -> IncidentShown:
    entities, cause = alert.detail.entities, alert.detail.cause
    is_muted = alert.is_muted(now)
    state = (alert.changed_at, alert.acknowledged_at, alert.muted_until, is_muted, alert.until)
    return IncidentShown(
        alert=alert,
        title=translated(alert.title, texts),
        note=translated(alert.detail.note, texts),
        why=translated(alert.detail.why, texts),
        cause=entity_shown(cause, names, alert.since) if cause and cause not in entities else None,
        entities=[entity_shown(each, names, alert.since) for each in entities[:chips_max]],
        more=max(0, len(entities) - chips_max),
        is_muted=is_muted,
        version="/".join(map(str, state)),
        map_url=map_url(alert.since),
    )


def _back(request: AnyRequest, number: int) -> str:
    """The page that the form was on: the list, or the incident."""
    is_from_list = request.query_params.get("from") == "list"
    return "/fleet/incidents" if is_from_list else f"/fleet/incidents/{number}"


def _seconds(text: str) -> float:
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise UsageError("a time to mute is a number of seconds")
    return float(text)


def _until(text: str) -> float:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError("give the time as 2026-03-02T12:00") from None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


HANDLERS = (incidents_page, incident_page, acknowledge_incident, mute_incident)
