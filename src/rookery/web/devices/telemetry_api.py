"""How a device is and was: its last report, its telemetry, what happened to it, routes to it."""

from typing import Annotated

import msgspec
from litestar.params import FromPath, QueryParameter

from rookery.web.accounts.access import may
from rookery.web.accounts.caller import Caller
from rookery.web.devices import ownership
from rookery.web.devices.events import DeviceEvents, device_events
from rookery.web.devices.ownership import DeviceShown
from rookery.web.devices.route_redaction import own_members, redacted_explanation
from rookery.web.devices.telemetry import (
    DeviceReportShown,
    DeviceTelemetry,
    Span,
    lake_telemetry,
    last_report,
    recent_telemetry,
)
from rookery.web.http.api_routes import get
from rookery.web.http.dependencies import TheCaller, TheSite
from rookery.web.http.problems import RequestRefusedError
from rookery.web.live.topic import LiveTopic
from rookery.web.mesh.api import mesh_of
from rookery.web.mesh.graph import MeshRouteExplanation
from rookery.web.site import WebSite
from rookery.wire.fleet.mac import parse_mac

READ = may("user", "read")


@get("/devices/{mac:str}/report", opt=READ, tags=["devices"], summary="What it said last")
async def get_report(mac: FromPath[str], caller: TheCaller, site: TheSite) -> DeviceReportShown:
    parsed = parse_mac(mac)
    device = await ownership.seen_device(site, caller, parsed)
    report = await report_of(site, device)
    if report is None:
        raise RequestRefusedError(404, "unknown", "this device has not told of itself yet")
    return report


@get("/devices/{mac:str}/telemetry", opt=READ, tags=["devices"], summary="How it was")
async def get_telemetry(
    mac: FromPath[str],
    caller: TheCaller,
    site: TheSite,
    span: Annotated[Span, QueryParameter()] = "now",
) -> DeviceTelemetry:
    """`now`: its last reports, as this hub remembers them; the others are of the lake."""
    parsed = parse_mac(mac)
    device = await ownership.seen_device(site, caller, parsed)
    if span == "now":
        return recent_telemetry(site, parsed, since=since(device))
    return await lake_telemetry(site, parsed, span, since=since(device))


@get("/devices/{mac:str}/events", opt=READ, tags=["devices"], summary="What happened to it")
async def get_events(mac: FromPath[str], caller: TheCaller, site: TheSite) -> DeviceEvents:
    """From the audit and the lake, since the device is its owner's."""
    parsed = parse_mac(mac)
    device = await ownership.seen_device(site, caller, parsed)
    return await device_events(site, caller, parsed, since(device))


@get("/devices/{mac:str}/route", opt=READ, tags=["devices"], summary="How it is reached, and why")
async def get_route(mac: FromPath[str], caller: TheCaller, site: TheSite) -> MeshRouteExplanation:
    """From the hub's mesh node; 404 for a device that is not in its mesh."""
    device = await ownership.seen_device(site, caller, parse_mac(mac))
    return await route_to(site, caller, device)


async def route_to(site: WebSite, caller: Caller, device: DeviceShown) -> MeshRouteExplanation:
    """Why packets to a device take their route; only operators see all relays' names."""
    source = mesh_of(site)
    if not device.reach:
        raise RequestRefusedError(
            404, "unknown", "this device is not in the mesh of this hub's node"
        )
    explanation = await source.explain("", device.hashname)
    if caller.is_at_least("operator"):
        return explanation
    return redacted_explanation(explanation, await own_members(site, caller))


async def report_of(site: WebSite, device: DeviceShown) -> DeviceReportShown | None:
    """What it said last, if it said so since it is its owner's."""
    report = last_report(await site.hub.entry(parse_mac(device.mac)))
    return None if report is None or report.at < since(device) else report


def since(device: DeviceShown) -> float:
    """From when on its past is the caller's: what others did before is theirs."""
    return ownership.owned_since(device.claimed_at) if device.is_mine else 0.0


async def _mine(site: WebSite, caller: Caller) -> dict[str, msgspec.Struct]:
    return {device.mac: device for device in await ownership.my_devices(site, caller)}


HANDLERS = (get_report, get_telemetry, get_events, get_route)
TOPICS = (LiveTopic("devices", "user", _mine),)
