"""The fleet at a glance."""

from litestar.handlers import HTTPRouteHandler

HANDLERS: tuple[HTTPRouteHandler, ...] = ()
