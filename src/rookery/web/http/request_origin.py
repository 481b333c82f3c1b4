"""Where a request comes from, and the audit row of what it did."""

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
    """Client address (as far as it is believed), browser and scheme of a request."""
    client = connection.client
    browser = connection.headers.get("user-agent", "")[:_BROWSER_MAX]
    return RequestOrigin(
        address=("" if client is None else client.host)[:_ADDRESS_MAX],
        browser=browser.encode("ascii", "replace").decode(),
        is_https=site.settings.is_https or connection.scope["scheme"] == "https",
    )


async def record_audit(
    site: WebSite,
    actor: str,
    action: str,
    target: str,
    origin: RequestOrigin,
    outcome: str = "ok",
    detail: Mapping[str, object] | None = None,
) -> None:
    """One row of the audit; `detail` never holds a password, token, code or ticket."""
    row = AuditRow(
        at=site.wall(),
        who=actor,
        what=action,
        target=target,
        detail={"outcome": outcome, **(detail or {})},
        address=origin.address,
    )
    await site.audit.add(row)
