"""The description of this API for programs."""

import msgspec
from litestar import Response, get

from rookery.web.accounts.access import anyone
from rookery.web.http.request import AnyRequest

_DESCRIPTION = "openapi"
_MEDIA_TYPE = "application/vnd.oai.openapi+json"


@get("/openapi.json", opt=anyone(), include_in_schema=False)
async def openapi(request: AnyRequest) -> Response[bytes]:
    """OpenAPI 3.1, made from the handlers themselves."""
    state = request.app.state
    if _DESCRIPTION not in state:  # takes 15 ms to build, and needs no sign-in
        schema = request.app.openapi_schema.to_schema()
        state[_DESCRIPTION] = msgspec.json.encode(schema)
    return Response(state[_DESCRIPTION], media_type=_MEDIA_TYPE)


HANDLERS = (openapi,)
