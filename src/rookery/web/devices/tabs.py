"""A device's page: one address for each of its tabs, and what each of them shows."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from rookery.errors import UnreachableError, UsageError
from rookery.web.accounts.caller import Caller
from rookery.web.devices.events import accesses, device_events
from rookery.web.devices.ownership import DeviceShown
from rookery.web.devices.route_redaction import OTHER_OWNER, own_members
from rookery.web.devices.telemetry_api import report_of, route_to, since
from rookery.web.mesh.graph import MeshRouteExplanation, QueuedRequest
from rookery.web.site import WebSite
from rookery.wire.fleet.mac import parse_mac
from rookery.wire.fleet.telemetry import DEVICE_FIELDS

_FIELDS = {field.public_name: field for field in DEVICE_FIELDS}

Values = dict[str, object]
Read = Callable[[WebSite, Caller, DeviceShown], Awaitable[Values]]


class DeviceTab(NamedTuple):
    """A part of a device's page."""

    key: str  # of its address; the first tab has none
    title: str  # English; templates translate it
    read: Read
    json: str  # of the same data, behind the device's address in the API
    cli: str

    @property
    def template(self) -> str:
        return f"device_{self.key or 'overview'}.html"


async def _overview(site: WebSite, _caller: Caller, device: DeviceShown) -> Values:
    return {"report": await report_of(site, device), "fields": _FIELDS}


async def _console(site: WebSite, _caller: Caller, _device: DeviceShown) -> Values:
    return {"has_servers": bool(await site.hub.servers())}


async def _telemetry(site: WebSite, _caller: Caller, _device: DeviceShown) -> Values:
    return {"has_lake": site.lake is not None, "fields": _FIELDS}


async def _links(site: WebSite, caller: Caller, device: DeviceShown) -> Values:
    return {"report": await report_of(site, device), "names": await _names(site, caller)}


async def _routes(site: WebSite, caller: Caller, device: DeviceShown) -> Values:
    explanation: MeshRouteExplanation | None = None
    problem = ""
    if site.mesh is not None and device.reach:
        try:
            explanation = await route_to(site, caller, device)
        except (UnreachableError, UsageError) as error:
            problem = str(error)
    return {
        "has_mesh": site.mesh is not None,
        "explanation": explanation,
        "problem": problem,
        "names": await _names(site, caller),
        "anothers": OTHER_OWNER,
    }


async def _queue(site: WebSite, _caller: Caller, device: DeviceShown) -> Values:
    requests: list[QueuedRequest] = []
    problem = ""
    if site.mesh is not None and device.reach:
        try:
            requests = await site.mesh.queue(device.hashname)
        except (UnreachableError, UsageError) as error:
            problem = str(error)
    return {"has_mesh": site.mesh is not None, "requests": requests, "problem": problem}


async def _events(site: WebSite, caller: Caller, device: DeviceShown) -> Values:
    found = await device_events(site, caller, parse_mac(device.mac), since(device))
    return {"found": found}


async def _access(site: WebSite, caller: Caller, device: DeviceShown) -> Values:
    mac = parse_mac(device.mac)
    return {
        "entry": await site.hub.entry(mac),
        "accesses": await accesses(site, caller, mac, since(device)),
    }


async def _names(site: WebSite, caller: Caller) -> dict[str, str]:
    """Of the mesh's members that the caller may know, by hashname."""
    if site.mesh is None:
        return {}
    try:
        graph = await site.mesh.graph()
    except UnreachableError:
        return {}
    named = {member.hashname: member.name for member in graph.members if member.name}
    if caller.is_at_least("operator"):
        return named
    own = await own_members(site, caller)
    return {hashname: name for hashname, name in named.items() if hashname in own}


TABS = (
    DeviceTab("", "Overview", _overview, "/report", "rookery rpc {mac} system.info"),
    DeviceTab("console", "Console", _console, "", "rookery connect {mac}"),
    DeviceTab("telemetry", "Telemetry", _telemetry, "/telemetry", "rookery devices --watch"),
    DeviceTab("links", "Links", _links, "/report", "rookery rpc {mac} net.interfaces"),
    DeviceTab("routes", "Routes", _routes, "/route", "rookery explain {hashname}"),
    DeviceTab("queue", "Queue", _queue, "/queue", "rookery queue show {hashname}"),
    DeviceTab("events", "Events", _events, "/events", "rookery devices"),
    DeviceTab("access", "Keys and access", _access, "", "rookery devices"),
)
BY_KEY = {tab.key: tab for tab in TABS}
