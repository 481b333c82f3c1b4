"""What a reader chose for pages: language and theme; the account's choice, else the cookie's."""

from typing import Literal

from litestar.datastructures import Cookie

from rookery.web.callers import Caller
from rookery.web.connection import AnyRequest
from rookery.web.pages.texts import LANGUAGES, preferred_language

THEMES = ("light", "dark")
COOKIES = {"language": "rookery_language", "theme": "rookery_theme"}
_KEPT_S = 365 * 86_400

Choice = Literal["language", "theme"]


def language_of(request: AnyRequest) -> str:
    """The account's, the cookie's, the browser's."""
    return _chosen(request, "language", LANGUAGES) or preferred_language(request.headers)


def theme_of(request: AnyRequest) -> str:
    """`light`, `dark`, or nothing: as the browser prefers."""
    return _chosen(request, "theme", THEMES)


def choice_cookie(name: Choice, value: str, *, is_https: bool) -> Cookie:
    """Remembers a choice in this browser; an empty one is forgotten."""
    return Cookie(
        key=COOKIES[name],
        value=value,
        path="/",
        httponly=True,
        samesite="lax",
        secure=is_https,
        max_age=_KEPT_S if value else 0,
    )


def _chosen(request: AnyRequest, name: Choice, known: tuple[str, ...]) -> str:
    caller = request.scope.get("user")
    kept = getattr(caller, name) if isinstance(caller, Caller) else ""
    for value in (kept, request.cookies.get(COOKIES[name], "")):
        if value in known:
            return str(value)
    return ""
