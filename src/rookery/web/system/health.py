"""Liveness, readiness and metrics, for supervisors and Prometheus."""

from litestar import Response, get

from rookery.web.accounts.access import anyone
from rookery.web.http.dependencies import TheSite

_REFUSALS = "rookery_http_refusals_total"
_TEXT = "text/plain; charset=utf-8"
_METRICS = "text/plain; version=0.0.4; charset=utf-8"


@get("/healthz", opt=anyone(), include_in_schema=False)
async def healthz() -> Response[bytes]:
    """The process answers; no store is checked."""
    return Response(b"ok\n", media_type=_TEXT)


@get("/readyz", opt=anyone(), include_in_schema=False)
async def readyz(site: TheSite) -> Response[bytes]:
    """Whether requests can be answered now."""
    is_ready = await site.hub.is_ready()
    return Response(
        b"ready\n" if is_ready else b"a store does not answer\n",
        status_code=200 if is_ready else 503,
        media_type=_TEXT,
    )


@get("/metrics", opt=anyone(), include_in_schema=False)
async def metrics(site: TheSite) -> Response[bytes]:
    """Prometheus' text format; totals only, no data of a device or account."""
    lines = [f'{_REFUSALS}{{reason="{why}"}} {count}' for why, count in site.refusals.items()]
    refusals = "\n".join([f"# TYPE {_REFUSALS} counter", *lines, ""]).encode()
    return Response(site.hub.metrics_text() + refusals, media_type=_METRICS)


HANDLERS = (healthz, readyz, metrics)
