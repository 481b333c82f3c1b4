"""For operators: all devices of the fleet."""

from typing import Annotated, Literal

import msgspec
from litestar.params import QueryParameter

from rookery.web.accounts.access import may
from rookery.web.accounts.caller import Caller
from rookery.web.devices.fleet_devices import (
    FleetDeviceFilter,
    FleetDevicePage,
    fleet_device_page,
    fleet_devices_now,
)
from rookery.web.http.api_routes import get
from rookery.web.http.dependencies import TheSite
from rookery.web.live.topic import LiveTopic
from rookery.web.site import WebSite
from rookery.wire.fleet.mac import parse_mac

ROWS = 100
ROWS_MAX = 500


@get("/routers", opt=may("operator", "read"), tags=["fleet"], summary="All routers")
async def list_routers(
    site: TheSite,
    after: Annotated[str | None, QueryParameter(max_length=32)] = None,
    count: Annotated[int, QueryParameter(ge=1, le=ROWS_MAX)] = ROWS,
    text: Annotated[str, QueryParameter(max_length=64)] = "",
    how: Annotated[Literal["online", "silent", ""], QueryParameter(name="state")] = "",
    owner: Annotated[str, QueryParameter(max_length=64)] = "",
) -> FleetDevicePage:
    """Filters: `text` in name, MAC, address or hashname; `state`; `owner`, `-` for unowned."""
    start = b"" if after is None else parse_mac(after)
    return await fleet_device_page(
        site, FleetDeviceFilter(text=text, state=how, owner=owner), start, count
    )


async def _shown_now(site: WebSite, _caller: Caller) -> dict[str, msgspec.Struct]:
    return {device.mac: device for device in await fleet_devices_now(site)}


HANDLERS = (list_routers,)
TOPICS = (LiveTopic("routers", "operator", _shown_now, is_shared=True, every_s=2.0),)
