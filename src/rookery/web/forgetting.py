"""Forgetting a device or a server: it is nobody's, its keys are unknown, its sessions end."""

from rookery.fleet.entry import server_id
from rookery.hub.errors import UnknownRouterError
from rookery.identity.hashname import is_hashname
from rookery.store.forgotten import ForgottenReporters
from rookery.web.cabinet import owned_by
from rookery.web.callers import Caller
from rookery.web.problems import RefusedError
from rookery.web.site import Site
from rookery.web.visits import Visit, note
from rookery.wire.mac import mac_text


async def forget_device(site: Site, caller: Caller, mac: bytes, came: Visit) -> None:
    """Owners forget what is theirs, administrators every router; it needs a code to come back."""
    if not caller.is_at_least("admin"):
        await owned_by(site, caller, mac)
    entry = await site.hub.entry(mac)
    if entry is None:
        raise UnknownRouterError(f"no router {mac_text(mac)} has ever reported here")
    await ForgottenReporters(site.hub.database).add(entry, now=site.wall())
    detail = {"hashname": entry.hashname}
    await note(site, caller.login, "device.forget", mac_text(mac), came, detail=detail)


async def forget_server(site: Site, caller: Caller, hashname: str, came: Visit) -> None:
    """It gets nobody new, and who is there has to leave; it needs a code to come back."""
    entry = None
    if is_hashname(hashname):
        (entry,) = await site.hub.hot.entries([server_id(hashname)])
    if entry is None or entry.hashname != hashname:
        raise RefusedError(404, "unknown", "no such server has ever reported here")
    await ForgottenReporters(site.hub.database).add(entry, now=site.wall())
    await note(site, caller.login, "server.forget", hashname, came)
