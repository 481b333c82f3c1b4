"""All devices, for operators: filtered, a page at a time, and live."""

from typing import Literal, cast
from urllib.parse import urlencode

from litestar import Response, get

from rookery.web.accounts.access import may
from rookery.web.devices.fleet_devices import FleetDeviceFilter, fleet_device_page
from rookery.web.http.dependencies import TheSite
from rookery.web.http.request import AnyRequest
from rookery.web.pages.rendering import page
from rookery.wire.fleet.mac import parse_mac

ROWS = 50
_LENGTH_MAX = 64


@get("/fleet/devices", opt=may("operator"), include_in_schema=False)
async def fleet_devices_page(request: AnyRequest, site: TheSite) -> Response[str]:
    """Those behind `after`; what is not a state is none."""
    asked = {
        name: str(request.query_params.get(name, ""))[:_LENGTH_MAX]
        for name in ("text", "state", "owner", "after")
    }
    if asked["state"] not in ("online", "silent"):
        asked["state"] = ""
    wanted = FleetDeviceFilter(
        text=asked["text"],
        state=cast('Literal["online", "silent", ""]', asked["state"]),
        owner=asked["owner"].strip(),
    )
    start = parse_mac(asked["after"]) if asked["after"] else b""
    found = await fleet_device_page(site, wanted, start, ROWS)
    filters = {name: asked[name] for name in ("text", "state", "owner") if asked[name]}
    values = {
        "found": found,
        "wanted": wanted,
        "is_first": not asked["after"],
        "first_url": "?" + urlencode(filters),
        "next_url": "?" + urlencode({**filters, "after": found.next}) if found.next else "",
    }
    url = f"/api/v1/routers?{urlencode(filters)}".rstrip("?")
    whole = (site.settings.public_url or str(request.base_url)).rstrip("/") + url
    return page(
        request,
        "fleet_devices.html",
        values,
        cli=f"curl -sH \"Authorization: Bearer $ROOKERY_TOKEN\" '{whole}'",
        json=url,
    )


HANDLERS = (fleet_devices_page,)
