"""Pages of one device: its tabs, naming, releasing and forgetting it."""

from litestar import Response, get, post
from litestar.params import FromPath
from litestar.response import Redirect

from rookery.web.accounts.access import may, may_enrolling
from rookery.web.accounts.caller import Caller
from rookery.web.accounts.session_cookie import session_cookie
from rookery.web.accounts.sign_in import sign_out
from rookery.web.devices import add_page, ownership
from rookery.web.devices.forgetting import forget_device
from rookery.web.devices.tabs import BY_KEY, TABS
from rookery.web.http.dependencies import TheCaller, TheSite
from rookery.web.http.headers import content_security_policy
from rookery.web.http.problems import RequestRefusedError
from rookery.web.http.request import AnyRequest
from rookery.web.http.request_origin import request_origin
from rookery.web.pages.forms import form_fields
from rookery.web.pages.rendering import page
from rookery.web.site import WebSite
from rookery.wire.fleet.mac import mac_text, parse_mac


@get("/devices/{mac:str}", opt=may("user"), include_in_schema=False)
async def device_page(
    request: AnyRequest, mac: FromPath[str], caller: TheCaller, site: TheSite
) -> Response[str]:
    """One device at a glance."""
    return await _tab_page(request, mac, "", caller, site)


@get("/devices/{mac:str}/{tab:str}", opt=may("user"), include_in_schema=False)
async def device_tab_page(
    request: AnyRequest, mac: FromPath[str], tab: FromPath[str], caller: TheCaller, site: TheSite
) -> Response[str]:
    """One of its tabs."""
    return await _tab_page(request, mac, tab, caller, site)


async def _tab_page(
    request: AnyRequest, mac: str, key: str, caller: Caller, site: WebSite
) -> Response[str]:
    device = await ownership.seen_device(site, caller, parse_mac(mac))
    tab = BY_KEY.get(key)
    if tab is None:
        raise RequestRefusedError(404, "unknown", "a device has no such page")
    values = await tab.read(site, caller, device)
    json = f"/api/v1/devices/{device.mac}{tab.json}"
    if key == "queue" and not device.is_mine:
        json = f"/api/v1/mesh/queues/{device.hashname}"
    answer = page(
        request,
        tab.template,
        {"device": device, "tab": tab, "tabs": TABS, **values},
        cli=tab.cli.format(mac=device.mac, hashname=device.hashname),
        json=json,
        section="devices" if device.is_mine else "fleet-devices",
    )
    # The console talks to whichever server the device is sent to.
    sockets = [server.ws for server in await site.hub.servers()]
    answer.headers["Content-Security-Policy"] = content_security_policy(sockets)
    return answer


@post("/devices/{mac:str}/name", opt=may("user"), include_in_schema=False)
async def name_device(
    request: AnyRequest, mac: FromPath[str], caller: TheCaller, site: TheSite
) -> Redirect:
    name = (await form_fields(request)).text("name")
    await ownership.rename(site, caller, parse_mac(mac), name, request_origin(request, site))
    return Redirect(f"/devices/{mac_text(parse_mac(mac))}", status_code=303)


@post("/devices/{mac:str}/release", opt=may("user"), include_in_schema=False)
async def release_device(
    request: AnyRequest, mac: FromPath[str], caller: TheCaller, site: TheSite
) -> Redirect:
    await ownership.release(site, caller, parse_mac(mac), request_origin(request, site))
    return Redirect("/", status_code=303)


@post("/devices/{mac:str}/forget", opt=may("user"), include_in_schema=False)
async def forget(
    request: AnyRequest, mac: FromPath[str], caller: TheCaller, site: TheSite
) -> Redirect:
    await forget_device(site, caller, parse_mac(mac), request_origin(request, site))
    return Redirect("/", status_code=303)


@post("/signout", opt=may_enrolling(), include_in_schema=False)
async def sign_out_page(request: AnyRequest, caller: TheCaller, site: TheSite) -> Redirect:
    origin = request_origin(request, site)
    await sign_out(site, caller, origin)
    cookie = session_cookie("", 0, is_https=origin.is_https)
    return Redirect("/", status_code=303, cookies=[cookie])


HANDLERS = (
    *(device_page, device_tab_page, name_device, release_device, forget, sign_out_page),
    *add_page.HANDLERS,
)
