"""All devices, for operators."""

from litestar.handlers import HTTPRouteHandler

HANDLERS: tuple[HTTPRouteHandler, ...] = ()
