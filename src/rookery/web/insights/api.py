"""API of insights, for operators, with lineage."""

import csv
import io
from typing import Annotated, Literal

from litestar import Response
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, QueryParameter

from rookery.web.accounts.access import may
from rookery.web.http.api_routes import get
from rookery.web.http.dependencies import TheSite
from rookery.web.insights.catalogue import (
    DOWNLOAD_ROWS_MAX,
    PAGE_ROWS,
    PAGE_ROWS_MAX,
    InsightRows,
    InsightRunShown,
    InsightShown,
    catalogue,
    insight,
    insight_rows,
    runs,
)
from rookery.web.insights.charts import InsightChart, chart
from rookery.web.insights.lake_reader import lake_of

_TAGS = ["insights"]
_OFFSET_MAX = 10_000_000
_NAME_MAX = 64
_TEXT_MAX = 128

Text = Annotated[str, QueryParameter(max_length=_TEXT_MAX)]
Offset = Annotated[int, QueryParameter(ge=0, le=_OFFSET_MAX)]


@get("/insights", opt=may("operator", "read"), tags=_TAGS, summary="All insights")
async def list_insights(site: TheSite) -> list[InsightShown]:
    """Made already or not, with definition, freshness and lineage."""
    return await catalogue(lake_of(site), site.wall())


@get("/insights/{name:str}", opt=may("operator", "read"), tags=_TAGS, summary="One insight")
async def get_insight(site: TheSite, name: FromPath[str]) -> InsightShown:
    return await insight(lake_of(site), name[:_NAME_MAX], site.wall())


@get("/insights/{name:str}/rows", opt=may("operator", "read"), tags=_TAGS, summary="Its rows")
async def list_rows(
    site: TheSite,
    name: FromPath[str],
    text: Text = "",
    offset: Offset = 0,
    count: Annotated[int, QueryParameter(ge=1, le=PAGE_ROWS_MAX)] = PAGE_ROWS,
) -> InsightRows:
    """All rows, or those with `text` in the name of a device, node or server."""
    return await insight_rows(lake_of(site), name[:_NAME_MAX], text, offset, count)


@get("/insights/{name:str}/download", opt=may("operator", "read"), tags=_TAGS)
async def download_rows(
    site: TheSite,
    name: FromPath[str],
    as_: Annotated[Literal["csv", "json"], QueryParameter(name="as")] = "csv",
    text: Text = "",
) -> Response[str] | Response[InsightRows]:
    """The first 10,000 rows as a file; for more there is `rookery lake query`."""
    found = await insight_rows(lake_of(site), name[:_NAME_MAX], text, 0, DOWNLOAD_ROWS_MAX)
    headers = {"Content-Disposition": f'attachment; filename="{found.name}.{as_}"'}
    if as_ == "json":
        return Response(found, headers=headers)
    return Response(_csv(found), media_type="text/csv; charset=utf-8", headers=headers)


@get("/insights/{name:str}/runs", opt=may("operator", "read"), tags=_TAGS, summary="Who made it")
async def list_runs(site: TheSite, name: FromPath[str]) -> list[InsightRunShown]:
    """By the lineage of its rows: runs, versions of their inputs, version of rookery."""
    lake = lake_of(site)
    return await runs(lake, await insight(lake, name, site.wall()))


@get("/insights/{name:str}/chart", opt=may("operator", "read"), tags=_TAGS, summary="As lines")
async def get_chart(site: TheSite, name: FromPath[str], text: Text = "") -> InsightChart:
    """Traffic, topology and forecast over time."""
    return await chart(lake_of(site), name, text, site.wall())


def _csv(found: InsightRows) -> str:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(found.columns)
    writer.writerows([_cell(row[column]) for column in found.columns] for row in found.rows)
    return written.getvalue()


def _cell(value: object) -> object:
    """A cell of CSV: lists by spaces; text that a spreadsheet would run as a formula is quoted."""
    if isinstance(value, list):
        value = " ".join(map(str, value))
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t"):
        return f"'{value}"
    return "" if value is None else value


HANDLERS: tuple[HTTPRouteHandler, ...] = (
    *(list_insights, get_insight, list_runs, get_chart),
    *(list_rows, download_rows),
)
