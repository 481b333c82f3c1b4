"""For operators: the servers, and all routers."""

from typing import Annotated

import msgspec
from litestar.params import QueryParameter

from rookery.fleet.entry import Entry
from rookery.web.access import may
from rookery.web.api.route import get
from rookery.web.cabinet import State, state_of
from rookery.web.given import TheSite
from rookery.web.site import Site
from rookery.wire.mac import mac_text, parse_mac

_ROWS = 100
_ROWS_MAX = 500


class ServerShown(msgspec.Struct, frozen=True, kw_only=True):
    """A server and what it carries."""

    hashname: str
    tcp: str
    ws: str
    seats_max: int
    seats_used: int
    reserved: int
    cpu: float
    mem: float
    reported_at: float


class RouterShown(msgspec.Struct, frozen=True, kw_only=True):
    """A router, whosever it is."""

    mac: str
    state: State
    owner: str | None  # login
    name: str
    hashname: str
    address: str
    first_seen: float
    last_seen: float


class RouterPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some routers, in the order of their MACs; `next` is `after` for the page behind."""

    routers: list[RouterShown]
    next: str | None


@get("/servers", opt=may("operator", "read"), tags=["fleet"], summary="Servers and their load")
async def list_servers(site: TheSite) -> list[ServerShown]:
    return [
        ServerShown(
            hashname=one.hashname,
            tcp=one.tcp,
            ws=one.ws,
            seats_max=one.seats_max,
            seats_used=one.seats_used,
            reserved=one.reserved,
            cpu=one.cpu,
            mem=one.mem,
            reported_at=one.reported_at,
        )
        for one in await site.hub.servers()
    ]


@get("/routers", opt=may("operator", "read"), tags=["fleet"], summary="All routers")
async def list_routers(
    site: TheSite,
    after: Annotated[str | None, QueryParameter(max_length=32)] = None,
    count: Annotated[int, QueryParameter(ge=1, le=_ROWS_MAX)] = _ROWS,
) -> RouterPage:
    start = b"" if after is None else parse_mac(after)
    entries = await _page(site, start, count + 1)
    shown = [await _shown(site, entry) for entry in entries[:count]]
    return RouterPage(routers=shown, next=shown[-1].mac if len(entries) > count else None)


async def _page(site: Site, start: bytes, count: int) -> list[Entry]:
    """The first so many behind `start`; holds no more than that and a chunk at a time."""
    best: list[Entry] = []
    async for chunk in site.hub.hot.scan("router"):
        best += [entry for entry in chunk if entry.reporter > start]
        best.sort(key=lambda entry: entry.reporter)
        del best[count:]
    return best


async def _shown(site: Site, entry: Entry) -> RouterShown:
    device = await site.devices.find(entry.reporter)
    owner = None if device is None else await site.accounts.get(device.owner)
    return RouterShown(
        mac=mac_text(entry.reporter),
        state=state_of(site, entry),
        owner=None if owner is None else owner.login,
        name="" if device is None else device.name,
        hashname=entry.hashname,
        address=entry.address,
        first_seen=entry.first_seen,
        last_seen=entry.last_seen,
    )


HANDLERS = (list_servers, list_routers)
