"""Entities of incidents as links: a device, a server, a member or a link of the mesh."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from urllib.parse import urlencode

import msgspec

from rookery.errors import RookeryError
from rookery.store.alerts.alert import Alert
from rookery.web.site import WebSite
from rookery.wire.fleet.mac import parse_mac

_SHORT = 10  # characters of a hashname that tell it from others


class AlertEntityShown(msgspec.Struct, frozen=True, kw_only=True):
    """An entity by its display name."""

    kind: str
    name: str
    title: str  # the whole of it
    url: str = ""


async def names_of(site: WebSite, alerts: Sequence[Alert]) -> dict[str, str]:
    """Names of the devices and members of these alerts; empty for a store that does not answer."""
    things = {entity for alert in alerts for entity in alert.detail.entities}
    things |= {alert.detail.cause for alert in alerts}
    macs = [mac for thing in things if (mac := _mac(thing)) is not None]
    devices = await site.devices.some(macs)
    names = {f"router {mac.hex(':')}": device.name for mac, device in devices.items()}
    is_about_mesh = any(thing.startswith(("member ", "link ", "node ")) for thing in things)
    if site.mesh is not None and is_about_mesh:
        try:
            graph = await site.mesh.graph()
        except RookeryError:
            return names
        names |= {f"member {each.hashname}": each.name for each in graph.members if each.name}
    return names


def shown(entity: str, names: Mapping[str, str], at: float) -> AlertEntityShown:
    """An entity as a link; `at` is the time that the map shows."""
    kind, _, rest = entity.partition(" ")
    match kind:
        case "router":
            url = f"/fleet/devices?{urlencode({'text': rest})}"
            return AlertEntityShown(kind=kind, name=names.get(entity) or rest, title=rest, url=url)
        case "server":
            return AlertEntityShown(
                kind=kind, name=_short(rest), title=rest, url=f"/fleet/servers#{rest}"
            )
        case "member" | "node":
            name = names.get(f"member {rest}") or _short(rest)
            return AlertEntityShown(kind=kind, name=name, title=rest, url=map_url(at))
        case "link":
            ends = rest.split(" ")
            label = " – ".join(names.get(f"member {end}") or _short(end) for end in ends)
            return AlertEntityShown(kind=kind, name=label, title=rest, url=map_url(at))
        case _:
            return AlertEntityShown(kind=kind, name=rest or kind, title=entity)


def map_url(at: float) -> str:
    """The map as it was then."""
    when = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"/fleet/map?{urlencode({'at': when})}"


def _short(text: str) -> str:
    return text if len(text) <= 2 * _SHORT else f"{text[:_SHORT]}…"


def _mac(entity: str) -> bytes | None:
    kind, _, rest = entity.partition(" ")
    if kind != "router":
        return None
    try:
        return parse_mac(rest)
    except RookeryError:
        return None
