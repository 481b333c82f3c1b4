"""Routes of insights and of publish/subscribe topics."""

from rookery.web.http.routes import RoomRoutes
from rookery.web.insights import api, page, topics_api, topics_page

INSIGHTS = RoomRoutes(
    api=(*api.HANDLERS, *topics_api.HANDLERS), pages=(*page.HANDLERS, *topics_page.HANDLERS)
)
