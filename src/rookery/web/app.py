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

from rookery.web import assets
from rookery.web.accounts import (
    administration,
    audit_page,
    preferences,
    sessions,
    sign_in_pages,
    tokens,
)
from rookery.web.accounts import api as account
from rookery.web.accounts import page as account_page
from rookery.web.accounts.access import access_guard
from rookery.web.accounts.authentication import AuthenticationMiddleware
from rookery.web.accounts.caller import Caller
from rookery.web.accounts.factors import api as factors
from rookery.web.accounts.factors import page as factors_page
from rookery.web.accounts.session_cookie import NAME
from rookery.web.alerts import api as alerts
from rookery.web.alerts import incidents_page
from rookery.web.devices import api as devices
from rookery.web.devices import codes_api, connect_api, fleet_api, fleet_page, telemetry_api
from rookery.web.devices import page as device_pages
from rookery.web.http import openapi
from rookery.web.http.headers import SecurityHeaders
from rookery.web.http.limits import AccountChangeLimit, RequestDeadline
from rookery.web.http.request import AnyRequest
from rookery.web.http.same_origin import SameOriginGuard, host_guard
from rookery.web.insights import api as insights
from rookery.web.insights import page as insight_pages
from rookery.web.insights import topics_api, topics_page
from rookery.web.live import api as live
from rookery.web.mesh import api as mesh
from rookery.web.mesh import history_api, map_page, matrix_page, queues_api
from rookery.web.overview import api as overview
from rookery.web.overview import page as overview_page
from rookery.web.overview import search
from rookery.web.pages.problem_page import HANDLERS
from rookery.web.servers import page
from rookery.web.settings import WebSettings
from rookery.web.site import WebSite
from rookery.web.system import api as system
from rookery.web.system import authority_certificate, health
from rookery.web.system import page as system_page

API = "/api/v1"
_MODULES = (
    *(openapi, account, factors, sessions, tokens, preferences, search, live),
    *(devices, connect_api, codes_api, telemetry_api, queues_api),
    *(overview, fleet_api, mesh, history_api, insights, alerts, topics_api, system, administration),
)
_PAGES = (
    *(assets, sign_in_pages, device_pages, account_page, factors_page),
    *(overview_page, fleet_page, map_page, matrix_page, page, incidents_page, insight_pages),
    *(topics_page, audit_page, system_page),
)


def app(site: WebSite) -> Litestar:
    """The whole of HTTP for one hub."""
    offer_topics(site)
    return routes(site.settings, lambda: site)


def offer_topics(site: WebSite) -> None:
    """What pages may follow live."""
    site.live.offer(topic for module in _MODULES for topic in getattr(module, "TOPICS", ()))


def routes(settings: WebSettings, site: Callable[[], WebSite]) -> Litestar:
    """For whichever site there is when somebody asks."""

    async def provide_site() -> WebSite:
        return site()

    async def count_refusal(message: Message, _scope: Scope) -> None:
        if message["type"] == "http.response.start" and message["status"] >= 400:
            site().refusals[str(message["status"])] += 1

    api = Router(API, route_handlers=[one for module in _MODULES for one in module.HANDLERS])
    return Litestar(
        [
            api,
            *health.HANDLERS,
            *authority_certificate.HANDLERS,
            *(one for each in _PAGES for one in each.HANDLERS),
        ],
        before_send=[SecurityHeaders(is_https=settings.is_https), count_refusal],
        dependencies={"site": Provide(provide_site), "caller": Provide(provide_caller)},
        exception_handlers=HANDLERS,
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
