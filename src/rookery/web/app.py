"""The application: routes, and what stands before all of them.

security headers ── deadline ── who asks ── may they ── from here ── handler
"""

from collections.abc import Callable

from litestar import Litestar, Router
from litestar.di import Provide
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, Reference, SecurityScheme
from litestar.types import Message, Scope

from rookery.web import assets, authority, health
from rookery.web.access import access_guard
from rookery.web.api import (
    account,
    administration,
    alerts,
    codes,
    connect,
    devices,
    factors,
    fleet,
    history,
    insights,
    live,
    mesh,
    openapi,
    overview,
    preferences,
    queues,
    search,
    sessions,
    system,
    telemetry,
    tokens,
    topics,
)
from rookery.web.authentication import Authentication
from rookery.web.callers import Caller
from rookery.web.connection import AnyRequest
from rookery.web.deadline import Deadline
from rookery.web.hosts import host_guard
from rookery.web.origins import SameOrigin
from rookery.web.pace import Pace
from rookery.web.pages import account as account_page
from rookery.web.pages import (
    audit,
    fleet_devices,
    fleet_map,
    incidents,
    matrix,
    seed,
    servers,
)
from rookery.web.pages import devices as device_pages
from rookery.web.pages import (
    factors as factors_page,
)
from rookery.web.pages import insights as insight_pages
from rookery.web.pages import overview as overview_page
from rookery.web.pages import system as system_page
from rookery.web.pages import topics as topics_page
from rookery.web.pages.problem_page import HANDLERS
from rookery.web.security_headers import SecurityHeaders
from rookery.web.session_cookie import NAME
from rookery.web.settings import WebSettings
from rookery.web.site import Site

API = "/api/v1"
_MODULES = (
    *(openapi, account, factors, sessions, tokens, preferences, search, live),
    *(devices, connect, codes, telemetry, queues),
    *(overview, fleet, mesh, history, insights, alerts, topics, system, administration),
)
_PAGES = (
    *(assets, seed, device_pages, account_page, factors_page),
    *(overview_page, fleet_devices, fleet_map, matrix, servers, incidents, insight_pages),
    *(topics_page, audit, system_page),
)


def app(site: Site) -> Litestar:
    """The whole of HTTP for one hub."""
    offer_topics(site)
    return routes(site.settings, lambda: site)


def offer_topics(site: Site) -> None:
    """What pages may follow live."""
    site.live.offer(topic for module in _MODULES for topic in getattr(module, "TOPICS", ()))


def routes(settings: WebSettings, site: Callable[[], Site]) -> Litestar:
    """For whichever site there is when somebody asks."""

    async def provide_site() -> Site:
        return site()

    async def count_refusal(message: Message, _scope: Scope) -> None:
        if message["type"] == "http.response.start" and message["status"] >= 400:
            site().refusals[str(message["status"])] += 1

    api = Router(API, route_handlers=[one for module in _MODULES for one in module.HANDLERS])
    return Litestar(
        [
            api,
            *health.HANDLERS,
            *authority.HANDLERS,
            *(one for each in _PAGES for one in each.HANDLERS),
        ],
        before_send=[SecurityHeaders(is_https=settings.is_https), count_refusal],
        dependencies={"site": Provide(provide_site), "caller": Provide(provide_caller)},
        exception_handlers=HANDLERS,
        guards=[
            host_guard,
            access_guard,
            SameOrigin(settings.public_url),
            Pace(settings.limits),
        ],
        middleware=[Deadline(settings.limits.request_s), Authentication(site)],
        openapi_config=_openapi(),
        request_max_body_size=settings.limits.body_bytes_max,
        logging_config=None,
        debug=False,
    )


async def provide_caller(request: AnyRequest) -> Caller:
    """Who asks, on routes that anonymous ones do not reach."""
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
        path=f"{API}/schema",  # says not whom it is for, so it is closed; ours is `openapi`
        components=Components(security_schemes=schemes),
        security=[{"token": []}, {"session": []}],
        render_plugins=[JsonRenderPlugin()],
        use_handler_docstrings=True,
    )
