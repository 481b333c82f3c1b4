"""The audit, filtered by account, action and target, a page at a time."""

from urllib.parse import urlencode

import msgspec
from litestar import Response, get

from rookery.web.accounts.access import may
from rookery.web.http.dependencies import TheSite
from rookery.web.http.request import AnyRequest
from rookery.web.pages.rendering import page

ROWS = 50
_LENGTH_MAX = 128
_ID_MAX = (1 << 63) - 1
_NAMES = ("who", "what", "target")
# What there is to choose from; any other may be typed.
ACTS = (
    "session",
    "account",
    "token",
    "device",
    "code",
    "rpc",
    "alert",
    "server",
    "router",
    "security",
)


@get("/fleet/audit", opt=may("admin"), include_in_schema=False)
async def audit_page(request: AnyRequest, site: TheSite) -> Response[str]:
    """The newest first."""
    query = request.query_params
    fields = {name: str(query.get(name, "")).strip()[:_LENGTH_MAX] for name in _NAMES}
    before = str(query.get("before", ""))
    start = min(int(before), _ID_MAX) if before.isascii() and before.isdecimal() else None
    rows = await site.audit.latest(
        who=fields["who"] or None,
        what=fields["what"] or None,
        target=fields["target"] or None,
        before=start,
        limit=ROWS + 1,
    )
    filters = {name: value for name, value in fields.items() if value}
    shown = rows[:ROWS]
    details = {row.id: _detail(row.detail) for row in shown}
    values = {
        "rows": shown,
        "details": details,
        "fields": fields,
        "acts": ACTS,
        "is_first": start is None,
        "is_filtered": bool(filters),
        "first_url": "?" + urlencode(filters),
        "next_url": _url(filters, shown[-1].id) if len(rows) > ROWS else "",
    }
    url = f"/api/v1/audit?{urlencode(filters)}".rstrip("?")
    whole = (site.settings.public_url or str(request.base_url)).rstrip("/") + url
    command = f"curl -sH \"Authorization: Bearer $ROOKERY_TOKEN\" '{whole}'"
    return page(request, "audit.html", values, cli=command, json=url)


def _url(filters: dict[str, str], before: int) -> str:
    return "?" + urlencode({**filters, "before": before})


def _detail(detail: dict[str, object]) -> list[tuple[str, str]]:
    """Pairs, the outcome first; what is nested as JSON."""
    pairs = [(name, _text(value)) for name, value in detail.items()]
    return sorted(pairs, key=lambda pair: pair[0] != "outcome")


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


HANDLERS = (audit_page,)
