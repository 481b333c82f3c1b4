"""API of the caller's devices: list, show, claim, rename, release, forget."""

from typing import Annotated

import msgspec
from litestar.params import FromPath, JSONBody

from rookery.web.accounts.access import may
from rookery.web.accounts.names import NAME_LENGTH_MAX
from rookery.web.devices import ownership
from rookery.web.devices.forgetting import forget_device
from rookery.web.devices.ownership import DeviceShown
from rookery.web.http.api_routes import delete, get, patch, post
from rookery.web.http.dependencies import TheCaller, TheSite
from rookery.web.http.request import AnyRequest
from rookery.web.http.request_origin import request_origin
from rookery.wire.fleet.mac import parse_mac

_CODE_MAX = 32
_MAC_MAX = 32


class DeviceClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A device, and the code that its agent shows on its console."""

    mac: Annotated[str, msgspec.Meta(max_length=_MAC_MAX)]
    code: Annotated[str, msgspec.Meta(min_length=1, max_length=_CODE_MAX)]
    name: Annotated[str, msgspec.Meta(max_length=NAME_LENGTH_MAX)] = ""

    def __repr__(self) -> str:
        return f"DeviceClaim({self.mac!r})"


class DeviceChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What may be changed of a device."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=NAME_LENGTH_MAX)]


@get("/devices", opt=may("user", "read"), tags=["devices"], summary="My devices")
async def list_devices(caller: TheCaller, site: TheSite) -> list[DeviceShown]:
    return await ownership.my_devices(site, caller)


@post("/devices/claim", opt=may("user", "write"), tags=["devices"], summary="Claim a device")
async def claim_device(
    request: AnyRequest, data: JSONBody[DeviceClaim], caller: TheCaller, site: TheSite
) -> DeviceShown:
    """Claim by the code that the agent shows; a device that has an owner is refused."""
    mac = parse_mac(data.mac)
    await ownership.claim(site, caller, mac, data.code, data.name, request_origin(request, site))
    return await ownership.my_device(site, caller, mac)


@get("/devices/{mac:str}", opt=may("user", "read"), tags=["devices"], summary="One device")
async def get_device(mac: FromPath[str], caller: TheCaller, site: TheSite) -> DeviceShown:
    """A device of the caller; for operators, any device."""
    return await ownership.seen_device(site, caller, parse_mac(mac))


@patch("/devices/{mac:str}", opt=may("user", "write"), tags=["devices"], summary="Rename it")
async def change_device(
    request: AnyRequest,
    mac: FromPath[str],
    data: JSONBody[DeviceChange],
    caller: TheCaller,
    site: TheSite,
) -> DeviceShown:
    await ownership.rename(site, caller, parse_mac(mac), data.name, request_origin(request, site))
    return await ownership.my_device(site, caller, parse_mac(mac))


@delete(
    "/devices/{mac:str}",
    opt=may("user", "write"),
    tags=["devices"],
    summary="Release it",
    status_code=204,
)
async def release_device(
    request: AnyRequest, mac: FromPath[str], caller: TheCaller, site: TheSite
) -> None:
    """It keeps reporting, without an owner."""
    await ownership.release(site, caller, parse_mac(mac), request_origin(request, site))


@delete(
    "/devices/{mac:str}/enrolment",
    opt=may("user", "write"),
    tags=["devices"],
    summary="Forget it",
    status_code=204,
)
async def forget_enrolled(
    request: AnyRequest, mac: FromPath[str], caller: TheCaller, site: TheSite
) -> None:
    """It loses its owner, its sessions end, and it needs a new code to enrol again.

    Owners forget their own devices; administrators every one, by a session that was proved within
    the last 15 minutes.
    """
    await forget_device(site, caller, parse_mac(mac), request_origin(request, site))


HANDLERS = (
    *(list_devices, claim_device, get_device, change_device, release_device, forget_enrolled),
)
