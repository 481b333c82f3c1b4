"""The types of a request here: who asks is a caller or None."""

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.datastructures import State
from litestar.handlers import HTTPRouteHandler

from rookery.web.accounts.caller import Caller

Connection = ASGIConnection[HTTPRouteHandler, Caller | None, str, State]
AnyRequest = Request[Caller | None, str, State]


def preferred(request: AnyRequest, offered: list[str]) -> str:
    """One of them by `Accept`; the first where the header says nothing that we understand."""
    try:
        return request.accept.best_match(offered, default=offered[0])
    except (ValueError, OverflowError):  # a weight that is no number, or an endless one
        return offered[0]
