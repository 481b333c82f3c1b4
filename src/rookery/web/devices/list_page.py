"""The page of the caller's devices: filtered, a page at a time."""

from math import ceil

import msgspec
from litestar import Response

from rookery.web.devices.ownership import DeviceShown
from rookery.web.http.request import AnyRequest
from rookery.web.pages.rendering import page

ROWS = 50
STATES = ("online", "silent", "never")
_TEXT_MAX = 64


class DeviceList(msgspec.Struct, frozen=True, kw_only=True):
    """One page of the list."""

    rows: list[DeviceShown]
    total: int
    fitting: int
    counts: dict[str, int]
    text: str
    state: str
    number: int  # of the page, from 1
    numbers: int  # how many there are


def device_list(
    devices: list[DeviceShown], text: str = "", state: str = "", number: int = 1
) -> DeviceList:
    """The page of that number, or the nearest one."""
    sought = text.strip().lower()[:_TEXT_MAX]
    fitting = [
        device
        for device in devices
        if (not sought or sought in device.name.lower() or sought in device.mac)
        and state in ("", device.state)
    ]
    numbers = max(1, ceil(len(fitting) / ROWS))
    number = min(max(number, 1), numbers)
    return DeviceList(
        rows=fitting[(number - 1) * ROWS : number * ROWS],
        total=len(devices),
        fitting=len(fitting),
        counts={each: sum(one.state == each for one in devices) for each in STATES},
        text=text.strip()[:_TEXT_MAX],
        state=state,
        number=number,
        numbers=numbers,
    )


def devices_page(request: AnyRequest, devices: list[DeviceShown]) -> Response[str]:
    """The list of the caller's devices; the filter is in the query."""
    query = request.query_params
    state, number = str(query.get("state", "")), str(query.get("page", "1"))
    listed = device_list(
        devices,
        str(query.get("text", "")),
        state if state in STATES else "",
        int(number) if number.isascii() and number.isdigit() and len(number) < 6 else 1,
    )
    return page(
        request, "devices.html", {"listed": listed}, cli="rookery devices", json="/api/v1/devices"
    )
