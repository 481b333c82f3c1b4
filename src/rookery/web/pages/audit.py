"""Who did what."""

from litestar.handlers import HTTPRouteHandler

HANDLERS: tuple[HTTPRouteHandler, ...] = ()
