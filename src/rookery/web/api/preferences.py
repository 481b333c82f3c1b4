"""Language and theme of one's own pages."""

from litestar.handlers import HTTPRouteHandler

from rookery.web.topic import Topic

HANDLERS: tuple[HTTPRouteHandler, ...] = ()
TOPICS: tuple[Topic, ...] = ()
