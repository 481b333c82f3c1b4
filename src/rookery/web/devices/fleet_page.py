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
    """Devices after `after`; an unknown state filters nothing."""
    fields = {
        name: str(request.query_params.get(name, ""))[:_LENGTH_MAX]
        for name in ("text", "state", "owner", "after")
    }
    if fields["state"] not in ("online", "silent"):
        fields["state"] = ""
    wanted = FleetDeviceFilter(
        text=fields["text"],
        state=cast('Literal["online", "silent", ""]', fields["state"]),
        owner=fields["owner"].strip(),
    )
    start = parse_mac(fields["after"]) if fields["after"] else b""
    found = await fleet_device_page(site, wanted, start, ROWS)
    filters = {name: fields[name] for name in ("text", "state", "owner") if fields[name]}
    values = {
        "found": found,
        "wanted": wanted,
        "is_first": not fields["after"],
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
