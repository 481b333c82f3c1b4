"""Removes a device or a server: owner and keys are deleted, its sessions end."""

from rookery.fleet.entry import server_id
from rookery.hub.errors import UnknownDeviceError
from rookery.identity.hashname import is_hashname
from rookery.store.fleet.forgotten import ForgottenEntries
from rookery.web.accounts.access import check_proved
from rookery.web.accounts.caller import Caller
from rookery.web.devices.ownership import owned_by
from rookery.web.http.problems import RequestRefusedError
from rookery.web.http.request_origin import RequestOrigin, record_audit
from rookery.web.site import WebSite
from rookery.wire.fleet.mac import mac_text


async def forget_device(site: WebSite, caller: Caller, mac: bytes, origin: RequestOrigin) -> None:
    """For owners; after a recent proof, administrators may forget any device.

    It needs a code to come back.
    """
    if not caller.is_at_least("admin"):
        await owned_by(site, caller, mac)
    entry = await site.hub.entry(mac)
    if entry is None:
        raise UnknownDeviceError(f"no device {mac_text(mac)} has ever reported here")
    device = await site.devices.find(mac)
    if device is None or device.owner != caller.account:
        check_proved(caller)
    await ForgottenEntries(site.hub.database).add(entry, now=site.wall())
    detail = {"hashname": entry.hashname}
    await record_audit(site, caller.login, "device.forget", mac_text(mac), origin, detail=detail)


async def forget_server(
    site: WebSite, caller: Caller, hashname: str, origin: RequestOrigin
) -> None:
    """It gets no new sessions, its sessions end, and it needs a code to enrol again."""
    entry = None
    if is_hashname(hashname):
        (entry,) = await site.hub.hot.entries([server_id(hashname)])
    if entry is None or entry.hashname != hashname:
        raise RequestRefusedError(404, "unknown", "no such server has ever reported here")
    await ForgottenEntries(site.hub.database).add(entry, now=site.wall())
    await record_audit(site, caller.login, "server.forget", hashname, origin)
