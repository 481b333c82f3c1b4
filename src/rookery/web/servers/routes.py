"""Routes of servers."""

from rookery.web.http.routes import RoomRoutes
from rookery.web.servers import api, page

SERVERS = RoomRoutes(api=api.HANDLERS, pages=page.HANDLERS, topics=api.TOPICS)
