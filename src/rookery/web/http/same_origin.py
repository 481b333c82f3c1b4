"""Guards against cross-site requests (CSRF) and malformed `Host` headers.

Browsers send `Sec-Fetch-Site` over https and to localhost, and `Origin` with every POST. Programs
that are not browsers send neither, and have no cookie to be misused. The `Host` of a request ends
up in URLs, so it must be a host name or an address.
"""

import re
from urllib.parse import urlsplit

from litestar.handlers import BaseRouteHandler

from rookery.web.http.problems import RequestRefusedError
from rookery.web.http.request import Connection

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class SameOriginGuard:
    """Guard of all routes: refuses changes that another site makes a browser ask for."""

    def __init__(self, public_url: str) -> None:
        self._public = _origin(public_url) if public_url else None

    def __call__(self, connection: Connection, _handler: BaseRouteHandler) -> None:
        if connection.scope.get("method") in SAFE_METHODS or is_by_token(connection):
            return
        site = connection.headers.get("sec-fetch-site")
        if site is not None:
            if site not in ("same-origin", "none"):
                raise _refusal()
            return
        origin = connection.headers.get("origin")
        if origin is not None and not self._is_ours(origin, connection):
            raise _refusal()

    def _is_ours(self, origin: str, connection: Connection) -> bool:
        theirs = _origin(origin)
        if theirs is None:
            return False
        if self._public is not None:
            return theirs == self._public
        host = connection.headers.get("host", "")
        return theirs == _origin(f"{connection.scope['scheme']}://{host}")


def is_by_token(connection: Connection) -> bool:
    """True if it carries a token; a cookie is then ignored."""
    return "authorization" in connection.headers


def _refusal() -> RequestRefusedError:
    return RequestRefusedError(403, "cross_origin", "this request comes from another site")


def _origin(url: str) -> tuple[str, str, int] | None:
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    return parts.scheme, parts.hostname, port


_HOST = re.compile(r"(?:[0-9A-Za-z._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::([0-9]{1,5}))?")
_PORT_MAX = 65_535


def host_guard(connection: Connection, _handler: BaseRouteHandler) -> None:
    """Guard of all routes: refuses a `Host` that is no host name or address with a port."""
    found = _HOST.fullmatch(connection.headers.get("host", ""))
    if found is None or int(found[1] or 0) > _PORT_MAX:
        raise RequestRefusedError(400, "malformed", "the Host header names no host")
