"""Latency and loss between every two members."""

from litestar.handlers import HTTPRouteHandler

HANDLERS: tuple[HTTPRouteHandler, ...] = ()
