"""The servers of a fleet: what each carries, what is expected of it, and draining it."""

from typing import Literal

import msgspec

from rookery.fleet.rendezvous.placement import DEAD_AFTER_S, ServerLoad
from rookery.hub.rendezvous.forecasts import Forecasts
from rookery.identity.hashname import is_hashname
from rookery.store.hubs.drains import Drain, Drains
from rookery.web.accounts.caller import Caller
from rookery.web.http.problems import RequestRefusedError
from rookery.web.http.request_origin import RequestOrigin, record_audit
from rookery.web.site import WebSite

State = Literal["online", "draining", "silent"]


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
    state: State = "online"
    is_draining: bool = False
    drained_since: float | None = None
    drained_by: str = ""
    growth: float | None = None  # share of its seats that it counts as fuller by, as forecast


class ServerForecastShown(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the choice of servers follows a forecast, and if not, why."""

    state: Literal["followed", "stale", "refused", "missing", "off"]
    problem: str = ""
    issuer: str = ""  # hashname
    expires_at: float | None = None  # wall seconds


async def servers_now(site: WebSite) -> list[ServerShown]:
    """All that ever reported, the fullest first."""
    drains = await Drains(site.hub.database).all()
    now, forecasts = site.wall(), site.hub.forecasts
    shown = [
        _shown(load, drains.get(load.hashname), forecasts, now) for load in await site.hub.servers()
    ]
    return sorted(shown, key=lambda one: (one.state == "silent", -_taken(one), one.hashname))


def forecast_now(site: WebSite) -> ServerForecastShown:
    forecasts = site.hub.forecasts
    return ServerForecastShown(
        state=forecasts.state.value,
        problem=forecasts.problem,
        issuer=forecasts.issuer,
        expires_at=forecasts.expires_s or None,
    )


async def drain(site: WebSite, caller: Caller, hashname: str, origin: RequestOrigin) -> ServerShown:
    """Give a server no new sessions."""
    await _known(site, hashname)
    await Drains(site.hub.database).begin(hashname, caller.login, now=site.wall())
    await record_audit(site, caller.login, "server.drain", hashname, origin)
    return await _known(site, hashname)


async def undrain(
    site: WebSite, caller: Caller, hashname: str, origin: RequestOrigin
) -> ServerShown:
    """Have it serve again."""
    await _known(site, hashname)
    if await Drains(site.hub.database).end(hashname):
        await record_audit(site, caller.login, "server.undrain", hashname, origin)
    return await _known(site, hashname)


async def _known(site: WebSite, hashname: str) -> ServerShown:
    if is_hashname(hashname):
        for server in await servers_now(site):
            if server.hashname == hashname:
                return server
    raise RequestRefusedError(404, "unknown", "no such server has ever reported here")


def _shown(load: ServerLoad, drain: Drain | None, forecasts: Forecasts, now: float) -> ServerShown:
    is_silent = now - load.reported_at > DEAD_AFTER_S
    return ServerShown(
        hashname=load.hashname,
        tcp=load.tcp,
        ws=load.ws,
        seats_max=load.seats_max,
        seats_used=load.seats_used,
        reserved=load.reserved,
        cpu=load.cpu,
        mem=load.mem,
        reported_at=load.reported_at,
        state="silent" if is_silent else "online" if drain is None else "draining",
        is_draining=drain is not None,
        drained_since=None if drain is None else drain.since,
        drained_by="" if drain is None else drain.who,
        growth=forecasts.growth(load),
    )


def _taken(server: ServerShown) -> float:
    return (server.seats_used + server.reserved) / max(server.seats_max, 1)
