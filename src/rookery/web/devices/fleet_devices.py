"""All devices, for operators: filtered, a page at a time, and live for those on a page."""

from collections.abc import Callable
from typing import Literal

import msgspec

from rookery.fleet.entry import FleetEntry
from rookery.web.devices.ownership import State, state_of
from rookery.web.site import WebSite
from rookery.wire.fleet.mac import mac_text


class FleetDeviceShown(msgspec.Struct, frozen=True, kw_only=True):
    """A device of any owner."""

    mac: str
    state: State
    owner: str | None  # login
    name: str
    hashname: str
    address: str
    first_seen: float
    last_seen: float
    traffic: tuple[int, ...] = ()  # bytes a second between its last reports


class FleetDevicePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page in order of MAC addresses; `next` is `after` for the next page."""

    devices: list[FleetDeviceShown] = msgspec.field(name="routers")
    next: str | None


class FleetDeviceFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Filter of devices; an empty field matches all."""

    text: str = ""  # in its name, MAC or address, or the beginning of its hashname
    state: Literal["online", "silent", ""] = ""
    owner: str = ""  # login; `-`: unowned


UNOWNED = "-"


async def fleet_device_page(
    site: WebSite, wanted: FleetDeviceFilter, start: bytes, count: int
) -> FleetDevicePage:
    """The first `count` matches after `start`."""
    entries = await _page(site, wanted, start, count + 1)
    shown = await fleet_devices_shown(site, entries[:count])
    site.shown_devices.note(entry.sender for entry in entries[:count])
    return FleetDevicePage(devices=shown, next=shown[-1].mac if len(entries) > count else None)


async def fleet_devices_now(site: WebSite) -> list[FleetDeviceShown]:
    """Devices that pages showed recently."""
    entries = await site.hub.hot.entries(site.shown_devices.macs)
    return await fleet_devices_shown(site, [entry for entry in entries if entry is not None])


async def fleet_devices_shown(site: WebSite, entries: list[FleetEntry]) -> list[FleetDeviceShown]:
    """Add names and owners, by two queries in all."""
    devices = await site.devices.some([entry.sender for entry in entries])
    logins = await site.accounts.logins({device.owner for device in devices.values()})
    shown = []
    for entry in entries:
        device = devices.get(entry.sender)
        shown.append(
            FleetDeviceShown(
                mac=mac_text(entry.sender),
                state=state_of(site, entry),
                owner=None if device is None else logins.get(device.owner),
                name="" if device is None else device.name,
                hashname=entry.hashname,
                address=entry.address,
                first_seen=entry.first_seen,
                last_seen=entry.last_seen,
                traffic=site.hub.recent.traffic(entry.sender),
            )
        )
    return shown


async def _page(
    site: WebSite, wanted: FleetDeviceFilter, start: bytes, count: int
) -> list[FleetEntry]:
    """Scans in chunks, so that memory is bounded by a page and a chunk."""
    fits = await _fitting(site, wanted)
    best: list[FleetEntry] = []
    async for chunk in site.hub.hot.scan("router"):
        best += [entry for entry in chunk if entry.sender > start and fits(entry)]
        best.sort(key=lambda entry: entry.sender)
        del best[count:]
    return best


async def _fitting(site: WebSite, wanted: FleetDeviceFilter) -> Callable[[FleetEntry], bool]:
    """A predicate of entries; what it needs of the database is read beforehand."""
    text = wanted.text.strip().lower()
    named = await site.devices.matching(text=text) if text else set()
    owned: set[bytes] | None = None
    is_wanted = True
    if wanted.owner == UNOWNED:
        owned, is_wanted = await site.devices.matching(), False
    elif wanted.owner:
        account = await site.accounts.find(wanted.owner)
        owned = set() if account is None else await site.devices.matching(owner=account.id)

    def fits(entry: FleetEntry) -> bool:
        if wanted.state and state_of(site, entry) != wanted.state:
            return False
        if owned is not None and (entry.sender in owned) is not is_wanted:
            return False
        return not text or entry.sender in named or _has(entry, text)

    return fits


def _has(entry: FleetEntry, text: str) -> bool:
    is_called_so = text in mac_text(entry.sender) or text in entry.address
    return is_called_so or entry.hashname.startswith(text)
