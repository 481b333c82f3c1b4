"""For operators: incidents and alerts, acknowledged and muted."""

from litestar.handlers import HTTPRouteHandler

from rookery.web.topic import Topic

HANDLERS: tuple[HTTPRouteHandler, ...] = ()
TOPICS: tuple[Topic, ...] = ()
