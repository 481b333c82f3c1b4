"""For operators: what the lake found out, where it comes from, how fresh it is."""

from litestar.handlers import HTTPRouteHandler

from rookery.web.topic import Topic

HANDLERS: tuple[HTTPRouteHandler, ...] = ()
TOPICS: tuple[Topic, ...] = ()
