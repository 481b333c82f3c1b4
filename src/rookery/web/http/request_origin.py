"""From where a request comes, and the row that the audit keeps of what it did."""

from collections.abc import Mapping

import msgspec

from rookery.store.accounts.audit import AuditRow
from rookery.web.http.request import Connection
from rookery.web.site import WebSite

_ADDRESS_MAX = 64
_BROWSER_MAX = 255


class RequestOrigin(msgspec.Struct, frozen=True):
    """Where a request comes from, as far as we believe it."""

    address: str
    browser: str
    is_https: bool


def request_origin(connection: Connection, site: WebSite) -> RequestOrigin:
    """The visit that a request is."""
    client = connection.client
    browser = connection.headers.get("user-agent", "")[:_BROWSER_MAX]
    return RequestOrigin(
        address=("" if client is None else client.host)[:_ADDRESS_MAX],
        browser=browser.encode("ascii", "replace").decode(),
        is_https=site.settings.is_https or connection.scope["scheme"] == "https",
    )


async def record_audit(
    site: WebSite,
    who: str,
    what: str,
    target: str,
    came: RequestOrigin,
    outcome: str = "ok",
    detail: Mapping[str, object] | None = None,
) -> None:
    """One row of the audit; `detail` never holds a password, token, code or ticket."""
    row = AuditRow(
        at=site.wall(),
        who=who,
        what=what,
        target=target,
        detail={"outcome": outcome, **(detail or {})},
        address=came.address,
    )
    await site.audit.add(row)
