"""A page: a template, filled for one request. Everything put into it is escaped."""

from collections.abc import Mapping
from datetime import UTC, datetime

from jinja2 import Environment, PackageLoader, StrictUndefined
from litestar import Response
from litestar.enums import MediaType

from rookery.web.accepted import preferred
from rookery.web.callers import Caller
from rookery.web.connection import AnyRequest
from rookery.web.pages.texts import texts_for


def _moment(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


_templates = Environment(
    loader=PackageLoader("rookery.web"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters["moment"] = _moment


def page(
    request: AnyRequest, template: str, values: Mapping[str, object], status: int = 200
) -> Response[str]:
    """The filled template, in the reader's language."""
    caller = request.scope.get("user")
    texts = texts_for(request.headers)
    text = _templates.get_template(template).render(
        dict(values),
        _=texts,
        language=texts.language,
        caller=caller if isinstance(caller, Caller) else None,
    )
    return Response(text, status_code=status, media_type=MediaType.HTML)


def wants_page(request: AnyRequest) -> bool:
    """Whether a person asks, by a browser; whoever takes anything gets JSON."""
    return preferred(request, ["application/json", "text/html"]) == "text/html"
