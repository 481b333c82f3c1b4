"""Routes of alerts: the API and the pages of incidents."""

from rookery.web.alerts import api, incidents_page
from rookery.web.http.routes import RoomRoutes

ALERTS = RoomRoutes(api=api.HANDLERS, pages=incidents_page.HANDLERS, topics=api.TOPICS)
