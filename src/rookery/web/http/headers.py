"""Headers that every answer carries, errors as well."""

import re
from collections.abc import Iterable

from litestar.datastructures import MutableScopeHeaders
from litestar.types import Message, Scope

# `same-origin`, not `no-referrer`: the latter makes browsers send `Origin: null` with our own
# forms, which would then look like another site's.
_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_WS_ADDRESS = re.compile(r"(wss?)://([0-9a-z.-]{1,253}|\[[0-9a-f:.]{2,45}\])(:[0-9]{1,5})?(/.*)?")
_STATIC = "/static/"


def content_security_policy(sockets: Iterable[str] = ()) -> str:
    """Allow this origin only, and WebSockets to these addresses.

    Addresses come from servers: those that do not parse are left out, as they could close the
    directive and open another.
    """
    allowed = sorted({origin for url in sockets if (origin := _ws_origin(url))})
    connect = " ".join(["'self'", *allowed])
    return (
        f"default-src 'self'; connect-src {connect}; img-src 'self' data:; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )


def _ws_origin(url: str) -> str | None:
    found = _WS_ADDRESS.fullmatch(url.lower())
    return None if found is None else f"{found[1]}://{found[2]}{found[3] or ''}"


_POLICY = content_security_policy()


class SecurityHeaders:
    """A `before_send` hook that adds the headers to each answer."""

    def __init__(self, *, is_https: bool) -> None:
        self._is_https = is_https

    async def __call__(self, message: Message, scope: Scope) -> None:
        if message["type"] != "http.response.start":
            return
        headers = MutableScopeHeaders.from_message(message)
        for name, value in _ALWAYS.items():
            headers[name] = value
        headers.setdefault("Content-Security-Policy", _POLICY)
        if not scope["path"].startswith(_STATIC):
            headers["Cache-Control"] = "no-store"
        if self._is_https or scope["scheme"] == "https":
            headers["Strict-Transport-Security"] = "max-age=31536000"
