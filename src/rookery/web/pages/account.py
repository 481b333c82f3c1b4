"""One's account: password, sessions, tokens, language, theme."""

from litestar.handlers import HTTPRouteHandler

HANDLERS: tuple[HTTPRouteHandler, ...] = ()
