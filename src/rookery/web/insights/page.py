"""Pages of insights: the catalogue, and each insight with its view, rows and lineage."""

import re
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlencode

from litestar import Response, get
from litestar.params import FromPath, QueryParameter

from rookery.errors import UnreachableError
from rookery.lake.schema.display import Lines, Spans
from rookery.web.accounts.access import may
from rookery.web.accounts.preferences import language_of
from rookery.web.http.dependencies import TheSite
from rookery.web.http.problems import RequestRefusedError
from rookery.web.http.request import AnyRequest
from rookery.web.insights import views
from rookery.web.insights.catalogue import (
    PAGE_ROWS,
    ColumnShown,
    InsightShown,
    catalogue,
    command,
    insight,
    insight_rows,
    insight_table,
    runs,
)
from rookery.web.insights.lake_reader import HubLakeReader, Row, lake_of
from rookery.web.insights.views import WeekHour
from rookery.web.pages import formats
from rookery.web.pages.rendering import api_command, page
from rookery.web.site import WebSite
from rookery.web.words.translation import PageTranslation
from rookery.wire.fleet.mac import mac_text, parse_mac

if TYPE_CHECKING:
    from rookery.lake.schema.table import Table

_JSON = "/api/v1/insights"
_TEXT_MAX = 128
_OFFSET_MAX = 10_000_000
_SPAN_DAYS = 14

_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")

Measure = Literal["loss", "rtt", "up"]

_HEAT: dict[str, tuple[float, ...]] = {
    "loss": (0.001, 0.01, 0.03, 0.1, 0.25),
    "rtt": (10_000, 30_000, 80_000, 150_000, 300_000),
    "up": (0.0, 0.001, 0.01, 0.05, 0.25),  # of the time not up
}
_LEGENDS = {
    "loss": ("< 0.1 %", "< 1 %", "< 3 %", "< 10 %", "< 25 %", "≥ 25 %"),
    "rtt": ("< 10 ms", "< 30 ms", "< 80 ms", "< 150 ms", "< 300 ms", "≥ 300 ms"),
    "up": ("100 %", "> 99.9 %", "> 99 %", "> 95 %", "> 75 %", "≤ 75 %"),
}


@get("/fleet/insights", opt=may("operator"), include_in_schema=False)
async def insights_page(request: AnyRequest, site: TheSite) -> Response[str]:
    """All insights, with freshness and run."""
    problem, shown = "", list[InsightShown]()
    try:
        shown = await catalogue(lake_of(site), site.wall())
    except RequestRefusedError as error:
        problem = str(error)
    values = {
        "insights": shown,
        "problem": problem,
        "has_lake": site.lake is not None,
        "command": _run_command(site),
        "number": formats.number,
    }
    cli = api_command(request, site, _JSON) if site.lake is None else _status_command(site.lake)
    return page(request, "insights.html", values, cli=cli, json=_JSON)


@get("/fleet/insights/{name:str}", opt=may("operator"), include_in_schema=False)
async def insight_page(
    request: AnyRequest,
    site: TheSite,
    name: FromPath[str],
    text: Annotated[str, QueryParameter(max_length=_TEXT_MAX)] = "",
    offset: Annotated[int, QueryParameter(ge=0, le=_OFFSET_MAX)] = 0,
    link: Annotated[str, QueryParameter(max_length=_TEXT_MAX)] = "",
    measure: Annotated[Measure, QueryParameter()] = "loss",
) -> Response[str]:
    """One insight; 404 for an unknown name, and without a lake."""
    lake, now = lake_of(site), site.wall()
    shown = await insight(lake, name, now)
    rows = await insight_rows(lake, name, text, offset)
    texts = PageTranslation(language_of(request))
    table, display = insight_table(name)
    view = await _view(lake, table, shown, text, link, now)
    values = _words(texts, await _names(site, view), dict(display.units)) | {
        "insight": shown,
        "insights": await catalogue(lake, now),
        "columns": {each.name: each for each in shown.columns},
        "rows": rows,
        "text": text,
        "offset": offset,
        "count": PAGE_ROWS,
        "measure": measure,
        "searched": True,
        "levels": _levels(shown),
        "runs": await runs(lake, shown),
        "has_chart": display.lines is not None,
        "chart_labels": _chart_labels(texts, display.lines),
        "view_kind": "spans" if isinstance(display.view, Spans) else display.view,
        "view": view,
        "run_command": _run_command(site),
        "paged": lambda start: urlencode(_query(text, link, measure, max(0, start))),
    }
    json = f"{_JSON}/{name}/rows" + (f"?{urlencode({'text': text})}" if text else "")
    return page(request, "insight.html", values, cli=command(lake, name, text), json=json)


def _chart_labels(texts: PageTranslation, lines: Lines | None) -> str:
    """Translations of labels for `insight.js`: `received=…|sent=…`; lines of servers need none."""
    if lines is None or lines.split_by:
        return ""
    return "|".join(f"{label}={texts(label.replace('_', ' '))}" for label, _ in lines.series)


async def _view(
    lake: HubLakeReader, table: "Table", shown: InsightShown, text: str, link: str, now: float
) -> object:
    if shown.version is None or table.display is None:
        return None
    match table.display.view:
        case Spans() as spans:
            at = datetime.fromtimestamp(now, UTC)
            return await views.spans_view(lake, table, spans, shown.last, at, _SPAN_DAYS)
        case "days":
            last = (await insight(lake, "availability", now)).last
            return await views.days_view(lake, last, text, 0)
        case "week":
            node, _, peer = link.partition(" ")
            return await views.week_view(lake, node, peer)
        case "critical":
            last = (await insight(lake, "critical_elements", now)).last
            return await views.critical_view(lake, last)
        case _:
            return None


async def _names(site: WebSite, view: object) -> dict[str, str]:
    """Names of the MAC addresses and hashnames in rows, from the hub and the mesh."""
    names = await _device_names(site, view)
    if site.mesh is not None:
        with suppress(UnreachableError):
            names |= {one.hashname: one.name for one in (await site.mesh.graph()).members}
    return names


async def _device_names(site: WebSite, view: object) -> dict[str, str]:
    match view:
        case views.InsightDaysView():
            shown = [each.device for each in view.strips]
        case views.InsightSpansView():
            shown = [entity for entity, _ in view.entities]
        case _:
            return {}
    macs = [parse_mac(each) for each in shown if _MAC.fullmatch(each)]
    return {mac_text(mac): one.name for mac, one in (await site.devices.some(macs)).items()}


def _words(
    texts: PageTranslation, names: dict[str, str], units: Mapping[str, str]
) -> dict[str, object]:
    """Formatting functions for templates."""

    def short(name: str) -> str:
        parts = name.split(" – ")
        return " – ".join(names.get(each) or formats.short(each) for each in parts)

    def cell(row: Row, column: ColumnShown) -> str:
        return formats.cell(row[column.name], _unit(row, column, units), texts)

    return {
        "percent": formats.percent,
        "size": formats.size,
        "number": formats.number,
        "short": short,
        "lasting": lambda micros: formats.lasting(micros, texts),
        "cell": cell,
        "heat": _heat,
        "heat_legend": _LEGENDS.__getitem__,
        "tick": _tick,
    }


def _unit(row: Row, column: ColumnShown, units: Mapping[str, str]) -> str:
    """A column whose unit depends on the row's kind lists several; `units` says which."""
    kind = row.get("kind")
    is_mixed = "," in column.unit and isinstance(kind, str)
    return units.get(str(kind), "") if is_mixed else column.unit


def _heat(hour: WeekHour, measure: Measure) -> int:
    """Severity of loss, 0 to 5."""
    value = {
        "loss": hour.loss,
        "rtt": hour.rtt_p95_us,
        "up": None if hour.up_share is None else 1 - hour.up_share,
    }[measure]
    if value is None:
        return 0
    if measure == "up":
        return sum(value > bound for bound in _HEAT[measure])
    return sum(value >= bound for bound in _HEAT[measure])


def _levels(shown: InsightShown) -> list[list[object]]:
    """Sources by stage, the furthest first, as they flow."""
    order = ("landing", "quarantine", "clean", "facts", "insights")
    ranked = sorted(shown.lineage, key=lambda each: (order.index(each.stage), each.path))
    return [list(group) for _, group in groupby(ranked, key=lambda each: each.stage)]


def _tick(seconds: float) -> str:
    at = time.gmtime(seconds)
    is_midnight = at.tm_hour == 0 and at.tm_min == 0
    return time.strftime("%m-%d" if is_midnight else "%H:%M", at)


def _query(text: str, link: str, measure: str, offset: int) -> dict[str, str]:
    query = {"text": text, "link": link, "offset": str(offset) if offset else ""}
    if measure != "loss":
        query["measure"] = measure
    return {name: value for name, value in query.items() if value}


def _run_command(site: WebSite) -> str:
    if site.lake is None:
        return "rookery hub --lake FOLDER"
    return f"rookery lake run --data {site.lake.url} --spool {site.hub.settings.data}"


def _status_command(lake: HubLakeReader) -> str:
    return f"rookery lake status --data {lake.url}"


HANDLERS = (insights_page, insight_page)
