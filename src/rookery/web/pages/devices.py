"""The cabinet's other pages (F15): one device, adding, claiming, naming and releasing."""

from litestar import Response, get, post
from litestar.params import FromPath
from litestar.response import Redirect

from rookery.web import cabinet
from rookery.web.access import may
from rookery.web.connection import AnyRequest
from rookery.web.enrolling import make_code
from rookery.web.entrance import sign_out
from rookery.web.given import TheCaller, TheSite
from rookery.web.pages.fields import form_fields
from rookery.web.pages.page import page
from rookery.web.security_headers import content_security_policy
from rookery.web.session_cookie import session_cookie
from rookery.web.visits import visit
from rookery.wire.mac import mac_text, parse_mac


@get("/devices/{mac:str}", opt=may("user"), include_in_schema=False)
async def device_page(
    request: AnyRequest, mac: FromPath[str], caller: TheCaller, site: TheSite
) -> Response[str]:
    """One device, with its steps live and a console on the server's WebSocket."""
    device = await cabinet.my_device(site, caller, parse_mac(mac))
    answer = page(request, "device.html", {"device": device})
    sockets = [server.ws for server in await site.hub.servers()]
    answer.headers["Content-Security-Policy"] = content_security_policy(sockets)
    return answer


@post("/devices/{mac:str}/name", opt=may("user"), include_in_schema=False)
async def name_device(
    request: AnyRequest, mac: FromPath[str], caller: TheCaller, site: TheSite
) -> Redirect:
    name = (await form_fields(request)).text("name")
    await cabinet.rename(site, caller, parse_mac(mac), name, visit(request, site))
    return Redirect(f"/devices/{mac_text(parse_mac(mac))}", status_code=303)


@post("/devices/{mac:str}/release", opt=may("user"), include_in_schema=False)
async def release_device(
    request: AnyRequest, mac: FromPath[str], caller: TheCaller, site: TheSite
) -> Redirect:
    await cabinet.release(site, caller, parse_mac(mac), visit(request, site))
    return Redirect("/", status_code=303)


@post("/claim", opt=may("user"), include_in_schema=False)
async def claim_device(request: AnyRequest, caller: TheCaller, site: TheSite) -> Redirect:
    fields = await form_fields(request)
    mac, name = parse_mac(fields.text("mac")), fields.optional("name")
    await cabinet.claim(site, caller, mac, fields.text("code"), name, visit(request, site))
    return Redirect(f"/devices/{mac_text(mac)}", status_code=303)


@post("/add", opt=may("user"), include_in_schema=False, status_code=200)
async def add_device(request: AnyRequest, caller: TheCaller, site: TheSite) -> Response[str]:
    """Show a new code, this once."""
    made = await make_code(site, caller, "router", visit(request, site))
    devices = await cabinet.my_devices(site, caller)
    return page(request, "devices.html", {"devices": devices, "made": made})


@post("/signout", opt=may("user"), include_in_schema=False)
async def sign_out_page(request: AnyRequest, caller: TheCaller, site: TheSite) -> Redirect:
    came = visit(request, site)
    await sign_out(site, caller, came)
    cookie = session_cookie("", 0, is_https=came.is_https)
    return Redirect("/", status_code=303, cookies=[cookie])


HANDLERS = (device_page, name_device, release_device, claim_device, add_device, sign_out_page)
