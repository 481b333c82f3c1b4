"""Devices of accounts: who may see and reach them; claiming, renaming, releasing."""

from typing import Literal

import msgspec

from rookery.fleet.entry import FleetEntry
from rookery.fleet.rendezvous.seat_authority import SeatAuthority
from rookery.hub.errors import UnknownDeviceError
from rookery.store.fleet.devices import Device
from rookery.web.accounts.caller import Caller
from rookery.web.accounts.names import checked_name
from rookery.web.devices.mesh_reach import NOT_IN_MESH, MeshReaches, Reach, mesh_reach_of
from rookery.web.http.problems import RequestRefusedError
from rookery.web.http.request_origin import RequestOrigin, record_audit
from rookery.web.site import WebSite
from rookery.wire.fleet.mac import mac_text

State = Literal["online", "silent", "never"]


class DeviceShown(msgspec.Struct, frozen=True, kw_only=True):
    """A device as its owner sees it; operators see all, and may do less."""

    mac: str
    name: str
    state: State  # `never`: claimed, but it has not reported yet
    last_seen: float | None  # wall seconds
    first_seen: float | None
    claimed_at: float | None
    hashname: str = ""
    address: str = ""
    is_mine: bool = True
    owner: str = ""  # login, where it is not the caller's own
    reach: Reach = ""  # in the mesh; empty: it is not in it, or there is none
    queued: int | None = None  # requests that wait for it; None: it is not in the mesh
    traffic: tuple[int, ...] = ()  # bytes a second between its last reports, the newest last


async def my_devices(site: WebSite, caller: Caller) -> list[DeviceShown]:
    """The caller's devices, by name."""
    devices = await site.devices.of(caller.account)
    entries = await site.hub.hot.entries([device.mac for device in devices])
    mesh = await mesh_reach_of(site, {entry.hashname for entry in entries if entry is not None})
    return [
        _shown(site, device.mac, device, entry, mesh)
        for device, entry in zip(devices, entries, strict=True)
    ]


async def my_device(site: WebSite, caller: Caller, mac: bytes) -> DeviceShown:
    """A device of the caller; 403 for any other, whether or not it exists."""
    device = await owned_by(site, caller, mac)
    return await _looked_at(site, mac, device, await site.hub.entry(mac))


async def seen_device(site: WebSite, caller: Caller, mac: bytes) -> DeviceShown:
    """A device of the caller; for operators, any device."""
    device = await site.devices.find(mac)
    if not caller.is_at_least("operator") or (device and device.owner == caller.account):
        return await my_device(site, caller, mac)
    entry = await site.hub.entry(mac)
    if device is None and entry is None:
        raise UnknownDeviceError(f"no device {mac_text(mac)} has ever reported here")
    owner = "" if device is None else (await site.accounts.logins([device.owner]))[device.owner]
    shown = await _looked_at(site, mac, device, entry)
    return msgspec.structs.replace(shown, is_mine=False, owner=owner)


async def authority_over(site: WebSite, caller: Caller, mac: bytes) -> SeatAuthority:
    """Owners may connect to their devices, operators to unowned ones; else 403."""
    device = await site.devices.find(mac)
    if device is None and caller.is_at_least("operator"):
        return SeatAuthority(caller.credential, None)
    return SeatAuthority(caller.credential, (await owned_by(site, caller, mac)).claimed_at)


async def claim(
    site: WebSite, caller: Caller, mac: bytes, code: str, name: str, origin: RequestOrigin
) -> Device:
    """Make the caller owner of a device, by the code that its agent shows."""
    target = mac_text(mac)
    guessed = f"claim {target}"
    await site.login_throttle.check(guessed, origin.address)
    entry = await site.hub.entry(mac)
    if entry is None or not site.hub.is_claimed(entry, code):
        await site.login_throttle.was_wrong(guessed, origin.address)
        await record_audit(site, caller.login, "device.claim", target, origin, "wrong code")
        detail = "this is not the code that the device shows, or it does not report here yet"
        raise RequestRefusedError(403, "wrong_code", detail)
    device = await site.devices.claim(
        mac, caller.account, checked_name(name or target), now=site.wall()
    )
    await record_audit(site, caller.login, "device.claim", target, origin)
    return device


async def rename(
    site: WebSite, caller: Caller, mac: bytes, name: str, origin: RequestOrigin
) -> None:
    """Give a device another name."""
    spelled = checked_name(name)
    await owned_by(site, caller, mac)
    await site.devices.rename(mac, caller.account, spelled)
    await record_audit(
        site, caller.login, "device.rename", mac_text(mac), origin, detail={"name": spelled}
    )


async def release(site: WebSite, caller: Caller, mac: bytes, origin: RequestOrigin) -> None:
    """Give up ownership; the device can then be claimed by its code again."""
    await owned_by(site, caller, mac)
    await site.devices.release(mac, caller.account)
    await record_audit(site, caller.login, "device.release", mac_text(mac), origin)


async def owned_by(site: WebSite, caller: Caller, mac: bytes) -> Device:
    """The caller's device; 403 for any other, whether or not it exists."""
    device = await site.devices.find(mac)
    if device is not None and device.owner == caller.account:
        return device
    if caller.is_at_least("operator") and device is None and await site.hub.entry(mac) is None:
        raise UnknownDeviceError(f"no device {mac_text(mac)} has ever reported here")
    # The same for another's and for what is not there: strangers do not learn which MACs we know.
    detail = f"{mac_text(mac)} is not your device; to claim yours, take the code its agent shows"
    raise RequestRefusedError(403, "foreign", detail)


def state_of(site: WebSite, entry: FleetEntry | None) -> State:
    """Status of a device."""
    if entry is None:
        return "never"
    return "silent" if site.hub.is_silent(entry) else "online"


def owned_since(claimed_at: float | None) -> float:
    """From when on a device's past is its owner's; what was before is another's."""
    return (claimed_at or 0.0) - 1.0


async def _looked_at(
    site: WebSite, mac: bytes, device: Device | None, entry: FleetEntry | None
) -> DeviceShown:
    mesh = {} if entry is None else await mesh_reach_of(site, {entry.hashname})
    return _shown(site, mac, device, entry, mesh)


def _since(device: Device | None) -> float:
    return 0.0 if device is None else owned_since(device.claimed_at)


def _shown(
    site: WebSite, mac: bytes, device: Device | None, entry: FleetEntry | None, mesh: MeshReaches
) -> DeviceShown:
    where = NOT_IN_MESH if entry is None else mesh.get(entry.hashname, NOT_IN_MESH)
    return DeviceShown(
        mac=mac_text(mac),
        name=mac_text(mac) if device is None else device.name,
        state=state_of(site, entry),
        last_seen=None if entry is None else entry.last_seen,
        first_seen=None if entry is None else entry.first_seen,
        claimed_at=None if device is None else device.claimed_at,
        hashname="" if entry is None else entry.hashname,
        address="" if entry is None else entry.address,
        reach=where.reach,
        queued=where.queued,
        traffic=() if entry is None else site.hub.recent.traffic(mac, _since(device)),
    )
