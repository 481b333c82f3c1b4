"""Search over what the caller may see: devices, servers, members, pages."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Annotated, Literal

import msgspec
from litestar.params import QueryParameter

from rookery.errors import RookeryError
from rookery.web.accounts.access import may
from rookery.web.accounts.caller import Caller
from rookery.web.accounts.preferences import language_of
from rookery.web.devices import ownership
from rookery.web.devices.fleet_devices import FleetDeviceFilter, fleet_device_page
from rookery.web.http.api_routes import get
from rookery.web.http.dependencies import TheCaller, TheSite
from rookery.web.http.request import AnyRequest
from rookery.web.pages.navigation import sections_for
from rookery.web.site import WebSite
from rookery.web.words.translation import PageTranslation

FOUND_MAX = 20
_EACH_MAX = 8  # of one kind, so that a thousand routers hide no page
_TEXT_MAX = 64
_SERVERS = "/fleet/servers#"

Kind = Literal["page", "device", "router", "server", "member"]


class HubSearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """Something with an address of its own."""

    kind: Kind
    title: str
    note: str
    url: str


@get("/search", opt=may("user", "read"), tags=["search"], summary="Search")
async def search(
    request: AnyRequest,
    caller: TheCaller,
    site: TheSite,
    q: Annotated[str, QueryParameter(max_length=_TEXT_MAX)],
) -> list[HubSearchResult]:
    """At most twenty of what has the text in its name, address or hashname; case counts not."""
    wanted = " ".join(q.casefold().split())
    if not wanted:
        return []
    found = _pages(caller, PageTranslation(language_of(request)), wanted)
    found += await _devices(site, caller, wanted)
    if caller.is_at_least("operator"):
        with suppress(RookeryError):  # a store that is away hides what it has, not the rest
            found += await _servers(site, wanted)
        with suppress(RookeryError):
            found += await _members(site, wanted)
        with suppress(RookeryError):
            found += await _routers(site, wanted, {one.url for one in found})
    return found[:FOUND_MAX]


def _pages(caller: Caller, texts: PageTranslation, wanted: str) -> list[HubSearchResult]:
    found = []
    for section in sections_for(caller):
        title = texts(section.title)
        if _has(wanted, (title, section.title, section.key)):
            note = texts(section.group)
            found.append(HubSearchResult(kind="page", title=title, note=note, url=section.url))
    return found[:_EACH_MAX]


async def _devices(site: WebSite, caller: Caller, wanted: str) -> list[HubSearchResult]:
    found = [
        HubSearchResult(kind="device", title=one.name, note=one.mac, url=f"/devices/{one.mac}")
        for one in await ownership.my_devices(site, caller)
        if _has(wanted, (one.name, one.mac, one.hashname, one.address))
    ]
    return found[:_EACH_MAX]


async def _servers(site: WebSite, wanted: str) -> list[HubSearchResult]:
    found = [
        HubSearchResult(
            kind="server",
            title=one.tcp or one.hashname,
            note=one.hashname,
            url=_SERVERS + one.hashname,
        )
        for one in await site.hub.servers()
        if _has(wanted, (one.hashname, one.tcp, one.ws))
    ]
    return found[:_EACH_MAX]


async def _members(site: WebSite, wanted: str) -> list[HubSearchResult]:
    if site.mesh is None:
        return []
    found = [
        HubSearchResult(
            kind="member",
            title=one.name or one.hashname,
            note=one.site or one.hashname,
            url=f"/fleet/map?from={one.hashname}",
        )
        for one in (await site.mesh.graph()).members
        if _has(wanted, (one.name, one.site, one.hashname))
    ]
    return found[:_EACH_MAX]


async def _routers(site: WebSite, wanted: str, known: set[str]) -> list[HubSearchResult]:
    page = await fleet_device_page(site, FleetDeviceFilter(text=wanted), b"", _EACH_MAX)
    found = [
        HubSearchResult(
            kind="router",
            title=one.name or one.mac,
            note=one.mac if one.name else one.address,
            url=f"/devices/{one.mac}",
        )
        for one in page.devices
    ]
    return [one for one in found if one.url not in known]


def _has(wanted: str, texts: Iterable[str]) -> bool:
    return any(wanted in text.casefold() for text in texts)


HANDLERS = (search,)
