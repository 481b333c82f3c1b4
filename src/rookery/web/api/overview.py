"""For operators: the fleet in a few figures."""

from litestar.handlers import HTTPRouteHandler

from rookery.web.topic import Topic

HANDLERS: tuple[HTTPRouteHandler, ...] = ()
TOPICS: tuple[Topic, ...] = ()
