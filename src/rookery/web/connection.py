"""The types of a request here: who asks is a caller or None."""

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.datastructures import State
from litestar.handlers import HTTPRouteHandler

from rookery.web.callers import Caller

Connection = ASGIConnection[HTTPRouteHandler, Caller | None, str, State]
AnyRequest = Request[Caller | None, str, State]
