"""Language and theme of pages, and their API: the account's choice, else the cookie's."""

from typing import Literal

import msgspec
from litestar.datastructures import Cookie
from litestar.params import JSONBody

from rookery.web.accounts.access import may
from rookery.web.accounts.caller import Caller
from rookery.web.http.api_routes import get, put
from rookery.web.http.dependencies import TheCaller, TheSite
from rookery.web.http.request import AnyRequest
from rookery.web.words.translation import LANGUAGES, preferred_language

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


class Preferences(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The account's choices; null: as the browser prefers."""

    language: Literal["en", "ru"] | None = None
    theme: Literal["light", "dark"] | None = None


@get("/me/preferences", opt=may("user", "read"), tags=["account"], summary="Language and theme")
async def my_preferences(caller: TheCaller, site: TheSite) -> Preferences:
    account = await site.accounts.get(caller.account)
    if account is None:  # removed since this request came
        return Preferences()
    return msgspec.convert({"language": account.language, "theme": account.theme}, Preferences)


@put("/me/preferences", opt=may("user", "write"), tags=["account"], summary="Change them")
async def put_preferences(
    data: JSONBody[Preferences], caller: TheCaller, site: TheSite
) -> Preferences:
    """For the account, in every browser that it signs in with."""
    await site.accounts.prefer(caller.account, data.language, data.theme)
    return data


HANDLERS = (my_preferences, put_preferences)
