"""Routes of the overview and of the search."""

from rookery.web.http.routes import RoomRoutes
from rookery.web.overview import api, page, search

OVERVIEW = RoomRoutes(api=(*api.HANDLERS, *search.HANDLERS), pages=page.HANDLERS, topics=api.TOPICS)
