"""The seed's routes (F14): `/`, `/auth` and `/registation`, for browsers and for programs.

They alone take login and password from the query as well; what is in a query is never logged.
"""

from collections.abc import Awaitable, Callable

import msgspec
from litestar import Response, get, post
from litestar.response import Redirect

from rookery.errors import UsageError
from rookery.web.accounts.access import anyone, enrol_first, may
from rookery.web.accounts.api import OwnAccount
from rookery.web.accounts.session_cookie import session_cookie
from rookery.web.accounts.sign_in import SignInSecrets, register, sign_in
from rookery.web.devices import ownership
from rookery.web.devices.connect_api import granted
from rookery.web.devices.connecting import DeviceConnectOutcome, connected
from rookery.web.devices.list_page import devices_page
from rookery.web.http.dependencies import TheCaller, TheSite
from rookery.web.http.problems import RequestRefusedError, problem_headers, problem_of
from rookery.web.http.request import AnyRequest
from rookery.web.http.request_origin import request_origin
from rookery.web.pages.forms import FormFields, form_fields
from rookery.web.pages.rendering import page, wants_page
from rookery.web.site import WebSite
from rookery.wire.fleet.mac import mac_text, parse_mac

Page = Response[str]
_REGISTRATION = ["/registation", "/registration"]  # the seed's spelling stays


class FrontPage(msgspec.Struct, frozen=True, kw_only=True):
    """The first page for programs."""

    login: str | None
    devices: list[ownership.DeviceShown]


@get("/", opt=anyone(), include_in_schema=False)
async def front(request: AnyRequest, site: TheSite) -> Page | Response[FrontPage]:
    """The caller's devices, or a welcome page when not signed in."""
    caller = request.user
    if caller is not None and caller.must_enrol:
        raise enrol_first()
    devices = [] if caller is None else await ownership.my_devices(site, caller)
    if not wants_page(request):
        return Response(FrontPage(login=None if caller is None else caller.login, devices=devices))
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
) -> Page | Response[DeviceConnectOutcome]:
    """Connect to `?mac=…` and wait for it; 409 silent, 403 where it is not the caller's."""
    fields = await form_fields(request)
    mac = parse_mac(fields.text("mac"))
    if not wants_page(request):
        return Response(await granted(request, site, caller, mac))
    outcome = await connected(request, site, caller, mac)
    values = {"mac": mac_text(mac), "outcome": outcome}
    return page(request, "connected.html", values, 504 if outcome.grant is None else 200)


@get("/auth", opt=anyone(), include_in_schema=False)
async def auth_page(request: AnyRequest) -> Page:
    return page(request, "auth.html", {"problem": "", "login": ""})


@post("/auth", opt=anyone(), include_in_schema=False)
async def auth(request: AnyRequest, site: TheSite) -> Page | Response[OwnAccount] | Redirect:
    """Sign in."""
    return await _entered(request, site, "auth.html", _signed_in)


@get(_REGISTRATION, opt=anyone(), include_in_schema=False)
async def registration_page(request: AnyRequest) -> Page:
    return page(request, "registration.html", {"problem": "", "login": ""})


@post(_REGISTRATION, opt=anyone(), include_in_schema=False)
async def registration(
    request: AnyRequest, site: TheSite
) -> Page | Response[OwnAccount] | Redirect:
    """Register, and sign in at once."""
    return await _entered(request, site, "registration.html", _registered)


Enter = Callable[[AnyRequest, WebSite, str, str], Awaitable[tuple[OwnAccount, str]]]


async def _entered(
    request: AnyRequest, site: WebSite, template: str, enter: Enter
) -> Page | Response[OwnAccount] | Redirect:
    fields = await form_fields(request)
    try:
        me, key = await enter(request, site, fields.text("login"), fields.text("password"))
    except (RequestRefusedError, UsageError) as error:
        if not wants_page(request):
            raise
        return _again(request, template, fields, error)
    is_https = request_origin(request, site).is_https
    cookie = session_cookie(key, site.settings.session_s, is_https=is_https)
    if wants_page(request):
        return Redirect("/", status_code=303, cookies=[cookie])
    return Response(me, status_code=201, cookies=[cookie])


def _again(
    request: AnyRequest, template: str, fields: FormFields, error: RequestRefusedError | UsageError
) -> Page:
    problem = problem_of(error)
    values = {"problem": problem.detail, "login": fields.optional("login")}
    answer = page(request, template, values, problem.status)
    answer.headers.update(problem_headers(problem))
    return answer


async def _signed_in(
    request: AnyRequest, site: WebSite, login: str, password: str
) -> tuple[OwnAccount, str]:
    fields = await form_fields(request)
    secrets, origin = (
        SignInSecrets(password, fields.optional("code")),
        request_origin(request, site),
    )
    account, key = await sign_in(site, login, secrets, origin, request.user)
    return OwnAccount(login=account.login, role=account.role), key


async def _registered(
    request: AnyRequest, site: WebSite, login: str, password: str
) -> tuple[OwnAccount, str]:
    await register(site, login, password, request_origin(request, site))
    return await _signed_in(request, site, login, password)


HANDLERS = (front, connect, auth_page, auth, registration_page, registration)
