"""Routes of the hub itself: status, health, metrics, the certificate of its authority."""

from rookery.web.http.routes import RoomRoutes
from rookery.web.system import api, authority_certificate, health, page

SYSTEM = RoomRoutes(
    api=api.HANDLERS,
    pages=(*page.HANDLERS, *health.HANDLERS, *authority_certificate.HANDLERS),
    topics=api.TOPICS,
)
