"""Routes of devices: one's own, and all for operators."""

from rookery.web.devices import (
    api,
    codes_api,
    connect_api,
    fleet_api,
    fleet_page,
    page,
    telemetry_api,
)
from rookery.web.http.routes import RoomRoutes

DEVICES = RoomRoutes(
    api=(
        *api.HANDLERS,
        *connect_api.HANDLERS,
        *codes_api.HANDLERS,
        *telemetry_api.HANDLERS,
        *fleet_api.HANDLERS,
    ),
    pages=(*page.HANDLERS, *fleet_page.HANDLERS),
    topics=(*telemetry_api.TOPICS, *fleet_api.TOPICS),
)
