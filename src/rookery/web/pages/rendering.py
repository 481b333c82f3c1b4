"""Renders pages: a template for one request, with everything escaped.

Pages show the command that gets the same data; where the CLI has none, a call of the API.
"""

import time
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version

from jinja2 import Environment, PackageLoader, StrictUndefined
from litestar import Response
from litestar.enums import MediaType

from rookery.web.accounts.caller import Caller
from rookery.web.accounts.preferences import language_of, theme_of
from rookery.web.assets import assets
from rookery.web.http.request import AnyRequest, preferred
from rookery.web.pages.formats import ago, browser, duration, moment, reported
from rookery.web.pages.navigation import section_of, sections_for
from rookery.web.site import WebSite
from rookery.web.words.translation import PageTranslation

templates = Environment(
    loader=PackageLoader("rookery.web"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
templates.filters["moment"] = moment
templates.filters["browser"] = browser


def page(
    request: AnyRequest,
    template: str,
    values: Mapping[str, object],
    status: int = 200,
    *,
    cli: str = "",
    json: str = "",
    section: str = "",
) -> Response[str]:
    """The filled template, in the reader's language.

    `cli` is the command that shows the same, `json` the address of the same data; `section` is the
    key of the navigation's entry, if the path does not tell.
    """
    scope = request.scope
    caller = scope.get("user")
    caller = caller if isinstance(caller, Caller) else None
    texts, now = PageTranslation(language_of(request)), time.time()
    shell = {
        "_": texts,
        "language": texts.language,
        "theme": theme_of(request),
        "caller": caller,
        "sections": sections_for(caller),
        "section": section or section_of(scope["path"]),
        "command_line": cli,
        "json_url": json,
        "back": _back(request),
        "static": assets().url,
        "version": _version(),
        "ago": lambda seconds: ago(seconds, now, texts),
        "duration": lambda seconds: duration(seconds, texts),
        "reported": lambda value, unit: reported(value, unit, texts),
    }
    text = templates.get_template(template).render(shell | dict(values))
    return Response(text, status_code=status, media_type=MediaType.HTML)


def wants_page(request: AnyRequest) -> bool:
    """True if `Accept` prefers HTML; `*/*` gets JSON."""
    return preferred(request, ["application/json", "text/html"]) == "text/html"


def _back(request: AnyRequest) -> str:
    """Where a switch in the header leads back to; never to the answer of a POST."""
    if request.method != "GET":
        return "/"
    query = request.scope["query_string"].decode("latin-1")
    return request.scope["path"] + (f"?{query}" if query else "")


@cache
def _version() -> str:
    return version("rookery")


TOKEN = "ROOKERY_TOKEN"  # noqa: S105 - the name of an environment's variable


def api_command(request: AnyRequest, site: WebSite, path: str) -> str:
    """`curl` with a token from the environment."""
    origin = (site.settings.public_url or str(request.base_url)).rstrip("/")
    return f'curl -sS -H "Authorization: Bearer ${TOKEN}" {origin}{path}'
