"""The seed's routes (F14): `/`, `/auth` and `/registation`, for browsers and for programs.

They alone take login and password from the query as well; what is in a query is never logged.
"""

from collections.abc import Awaitable, Callable

import msgspec
from litestar import Response, get, post
from litestar.response import Redirect

from rookery.errors import UsageError
from rookery.web import cabinet
from rookery.web.access import anybody, enrol_first, may
from rookery.web.api.account import Me
from rookery.web.api.connect import granted
from rookery.web.connecting import Connected, connected
from rookery.web.connection import AnyRequest
from rookery.web.entrance import Secrets, register, sign_in
from rookery.web.given import TheCaller, TheSite
from rookery.web.pages.device_list import devices_page
from rookery.web.pages.fields import Fields, form_fields
from rookery.web.pages.page import page, wants_page
from rookery.web.problems import RefusedError, problem_headers, problem_of
from rookery.web.session_cookie import session_cookie
from rookery.web.site import Site
from rookery.web.visits import visit
from rookery.wire.mac import mac_text, parse_mac

Page = Response[str]
_REGISTRATION = ["/registation", "/registration"]  # the seed's spelling stays


class Front(msgspec.Struct, frozen=True, kw_only=True):
    """The first page for programs."""

    login: str | None
    devices: list[cabinet.DeviceShown]


@get("/", opt=anybody(), include_in_schema=False)
async def front(request: AnyRequest, site: TheSite) -> Page | Response[Front]:
    """One's own devices; a welcome to those who are not signed in."""
    caller = request.user
    if caller is not None and caller.must_enrol:
        raise enrol_first()
    devices = [] if caller is None else await cabinet.my_devices(site, caller)
    if not wants_page(request):
        return Response(Front(login=None if caller is None else caller.login, devices=devices))
    if caller is None:
        return page(request, "welcome.html", {})
    return devices_page(request, devices)


@post(
    "/",
    opt=may("user", "connect") | {"streams": True},
    include_in_schema=False,
    status_code=200,
)
async def connect(
    request: AnyRequest, caller: TheCaller, site: TheSite
) -> Page | Response[Connected]:
    """Connect to `?mac=…` and wait for it; 409 silent, 403 where it is not the caller's."""
    fields = await form_fields(request)
    mac = parse_mac(fields.text("mac"))
    if not wants_page(request):
        return Response(await granted(request, site, caller, mac))
    outcome = await connected(request, site, caller, mac)
    values = {"mac": mac_text(mac), "outcome": outcome}
    return page(request, "connected.html", values, 504 if outcome.grant is None else 200)


@get("/auth", opt=anybody(), include_in_schema=False)
async def auth_page(request: AnyRequest) -> Page:
    return page(request, "auth.html", {"problem": "", "login": ""})


@post("/auth", opt=anybody(), include_in_schema=False)
async def auth(request: AnyRequest, site: TheSite) -> Page | Response[Me] | Redirect:
    """Sign in."""
    return await _entered(request, site, "auth.html", _signed_in)


@get(_REGISTRATION, opt=anybody(), include_in_schema=False)
async def registration_page(request: AnyRequest) -> Page:
    return page(request, "registration.html", {"problem": "", "login": ""})


@post(_REGISTRATION, opt=anybody(), include_in_schema=False)
async def registration(request: AnyRequest, site: TheSite) -> Page | Response[Me] | Redirect:
    """Register, and sign in at once."""
    return await _entered(request, site, "registration.html", _registered)


Enter = Callable[[AnyRequest, Site, str, str], Awaitable[tuple[Me, str]]]


async def _entered(
    request: AnyRequest, site: Site, template: str, enter: Enter
) -> Page | Response[Me] | Redirect:
    fields = await form_fields(request)
    try:
        me, key = await enter(request, site, fields.text("login"), fields.text("password"))
    except (RefusedError, UsageError) as error:
        if not wants_page(request):
            raise
        return _again(request, template, fields, error)
    is_https = visit(request, site).is_https
    cookie = session_cookie(key, site.settings.session_s, is_https=is_https)
    if wants_page(request):
        return Redirect("/", status_code=303, cookies=[cookie])
    return Response(me, status_code=201, cookies=[cookie])


def _again(
    request: AnyRequest, template: str, fields: Fields, error: RefusedError | UsageError
) -> Page:
    problem = problem_of(error)
    values = {"problem": problem.detail, "login": fields.optional("login")}
    answer = page(request, template, values, problem.status)
    answer.headers.update(problem_headers(problem))
    return answer


async def _signed_in(request: AnyRequest, site: Site, login: str, password: str) -> tuple[Me, str]:
    fields = await form_fields(request)
    given, came = Secrets(password, fields.optional("code")), visit(request, site)
    account, key = await sign_in(site, login, given, came, request.user)
    return Me(login=account.login, role=account.role), key


async def _registered(request: AnyRequest, site: Site, login: str, password: str) -> tuple[Me, str]:
    await register(site, login, password, visit(request, site))
    return await _signed_in(request, site, login, password)


HANDLERS = (front, connect, auth_page, auth, registration_page, registration)
