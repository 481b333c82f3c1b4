"""Routes of one room: what it adds to the application."""

from collections.abc import Sequence
from typing import NamedTuple

from litestar.handlers import HTTPRouteHandler

from rookery.web.live.topic import LiveTopic


class RoomRoutes(NamedTuple):
    """Handlers below `/api/v1`, handlers with full paths, and topics that pages follow live."""

    api: Sequence[HTTPRouteHandler] = ()
    pages: Sequence[HTTPRouteHandler] = ()
    topics: Sequence[LiveTopic] = ()
