"""The application: the routes of all rooms, and what every request passes before them.

security headers ── deadline ── authentication ── host, access, origin, rate ── handler
"""

from collections.abc import Callable

from litestar import Litestar, Router
from litestar.di import Provide
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, Reference, SecurityScheme
from litestar.types import Message, Scope

from rookery.web import assets
from rookery.web.accounts.access import access_guard
from rookery.web.accounts.authentication import AuthenticationMiddleware
from rookery.web.accounts.caller import Caller
from rookery.web.accounts.routes import ACCOUNTS
from rookery.web.accounts.session_cookie import NAME
from rookery.web.alerts.routes import ALERTS
from rookery.web.devices.routes import DEVICES
from rookery.web.http import openapi
from rookery.web.http.headers import SecurityHeaders
from rookery.web.http.limits import AccountChangeLimit, RequestDeadline
from rookery.web.http.request import AnyRequest
from rookery.web.http.routes import RoomRoutes
from rookery.web.http.same_origin import SameOriginGuard, host_guard
from rookery.web.insights.routes import INSIGHTS
from rookery.web.live import api as live
from rookery.web.mesh.routes import MESH
from rookery.web.overview.routes import OVERVIEW
from rookery.web.pages.problem_page import EXCEPTION_HANDLERS
from rookery.web.servers.routes import SERVERS
from rookery.web.settings import WebSettings
from rookery.web.site import WebSite
from rookery.web.system.routes import SYSTEM

API = "/api/v1"
ROOMS = (
    RoomRoutes(api=(*openapi.HANDLERS, *live.HANDLERS), pages=assets.HANDLERS),
    *(ACCOUNTS, DEVICES, OVERVIEW, SERVERS, MESH, INSIGHTS, ALERTS, SYSTEM),
)


def app(site: WebSite) -> Litestar:
    """The HTTP application of one hub."""
    offer_topics(site)
    return routes(site.settings, lambda: site)


def offer_topics(site: WebSite) -> None:
    """Register the topics that pages may follow live."""
    site.live.offer(topic for room in ROOMS for topic in room.topics)


def routes(settings: WebSettings, site: Callable[[], WebSite]) -> Litestar:
    """Routes that look the site up with each request: it may be made after the application."""

    async def provide_site() -> WebSite:
        return site()

    async def count_refusal(message: Message, _scope: Scope) -> None:
        if message["type"] == "http.response.start" and message["status"] >= 400:
            site().refusals[str(message["status"])] += 1

    api = Router(API, route_handlers=[handler for room in ROOMS for handler in room.api])
    return Litestar(
        [api, *(handler for room in ROOMS for handler in room.pages)],
        before_send=[SecurityHeaders(is_https=settings.is_https), count_refusal],
        dependencies={"site": Provide(provide_site), "caller": Provide(provide_caller)},
        exception_handlers=EXCEPTION_HANDLERS,
        guards=[
            host_guard,
            access_guard,
            SameOriginGuard(settings.public_url),
            AccountChangeLimit(settings.limits),
        ],
        middleware=[RequestDeadline(settings.limits.request_s), AuthenticationMiddleware(site)],
        openapi_config=_openapi(),
        request_max_body_size=settings.limits.body_bytes_max,
        logging_config=None,
        debug=False,
    )


async def provide_caller(request: AnyRequest) -> Caller:
    """The caller, on routes that anonymous requests do not reach."""
    caller = request.scope.get("user")
    assert isinstance(caller, Caller)
    return caller


def _openapi() -> OpenAPIConfig:
    schemes: dict[str, SecurityScheme | Reference] = {
        "token": SecurityScheme(type="http", scheme="bearer"),
        "session": SecurityScheme(type="apiKey", name=NAME, security_scheme_in="cookie"),
    }
    return OpenAPIConfig(
        title="rookery hub",
        version="1",
        description="Accounts, devices, and connecting to them.",
        path=f"{API}/schema",  # without an access rule, so closed; ours is `openapi`
        components=Components(security_schemes=schemes),
        security=[{"token": []}, {"session": []}],
        render_plugins=[JsonRenderPlugin()],
        use_handler_docstrings=True,
    )
