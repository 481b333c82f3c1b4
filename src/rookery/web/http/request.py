"""Types of connections and requests, and content negotiation by `Accept`.

`request.user` is the caller, or None when not signed in.
"""

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.datastructures import State
from litestar.handlers import HTTPRouteHandler

from rookery.web.accounts.caller import Caller

Connection = ASGIConnection[HTTPRouteHandler, Caller | None, str, State]
AnyRequest = Request[Caller | None, str, State]


def preferred(request: AnyRequest, offered: list[str]) -> str:
    """The offered media type that `Accept` prefers; the first one if the header does not parse."""
    try:
        return request.accept.best_match(offered, default=offered[0])
    except (ValueError, OverflowError):  # a weight that is no number, or an endless one
        return offered[0]
