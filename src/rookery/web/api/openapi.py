"""The description of this API for programs."""

import msgspec
from litestar import Response, get

from rookery.web.access import anybody
from rookery.web.connection import AnyRequest

_MEDIA_TYPE = "application/vnd.oai.openapi+json"


@get("/openapi.json", opt=anybody(), include_in_schema=False)
async def openapi(request: AnyRequest) -> Response[bytes]:
    """OpenAPI 3.1, made from the handlers themselves."""
    return Response(
        msgspec.json.encode(request.app.openapi_schema.to_schema()), media_type=_MEDIA_TYPE
    )


HANDLERS = (openapi,)
