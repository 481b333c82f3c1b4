"""Routes of the mesh: map, matrix, history and queues."""

from rookery.web.http.routes import RoomRoutes
from rookery.web.mesh import api, history_api, page, queues_api

MESH = RoomRoutes(
    api=(*queues_api.HANDLERS, *api.HANDLERS, *history_api.HANDLERS),
    pages=page.HANDLERS,
    topics=api.TOPICS,
)
