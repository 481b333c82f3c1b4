"""Search over what the caller may see: devices, servers, members, pages."""

from litestar.handlers import HTTPRouteHandler

from rookery.web.topic import Topic

HANDLERS: tuple[HTTPRouteHandler, ...] = ()
TOPICS: tuple[Topic, ...] = ()
