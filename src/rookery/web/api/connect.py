"""Connect to a device: its steps live, or only how it went."""

from litestar import Response
from litestar.openapi import ResponseSpec
from litestar.params import FromPath
from litestar.response import Stream

from rookery.web.accepted import preferred
from rookery.web.access import may
from rookery.web.api.route import PROBLEMS, post
from rookery.web.callers import Caller
from rookery.web.connecting import EVENT_STREAM, Connected, connected, step_stream
from rookery.web.connection import AnyRequest
from rookery.web.given import TheCaller, TheSite
from rookery.web.problems import MEDIA_TYPE, Problem, RefusedError
from rookery.web.site import Site
from rookery.wire.mac import parse_mac

_JSON = "application/json"
_UNBUFFERED = {"X-Accel-Buffering": "no"}  # else some proxies keep the steps to themselves
_OUTCOME = ResponseSpec(
    Connected, description="How it went, or the steps as events.", generate_examples=False
)
_FAILED = ResponseSpec(
    Problem,
    description="It failed; the detail says at which step.",
    media_type=MEDIA_TYPE,
    generate_examples=False,
)


@post(
    "/devices/{mac:str}/connect",
    opt=may("user", "connect") | {"streams": True},
    status_code=200,
    tags=["devices"],
    summary="Connect to it",
    responses=PROBLEMS | {200: _OUTCOME, 504: _FAILED},
)
async def connect_device(
    request: AnyRequest, mac: FromPath[str], caller: TheCaller, site: TheSite
) -> Response[Connected] | Stream:
    """Server-sent events by default: one for each step, the last with the grant. With
    `Accept: application/json`, one answer when it is done, or 504 when it failed."""
    parsed = parse_mac(mac)
    if wants_json(request):
        return Response(await granted(request, site, caller, parsed), media_type=_JSON)
    return Stream(
        await step_stream(request, site, caller, parsed),
        media_type=EVENT_STREAM,
        headers=_UNBUFFERED,
    )


def wants_json(request: AnyRequest) -> bool:
    """Whether JSON is asked for, and the stream is not."""
    return preferred(request, [EVENT_STREAM, _JSON]) == _JSON


async def granted(request: AnyRequest, site: Site, caller: Caller, mac: bytes) -> Connected:
    """Wait for the grant; what failed is a problem with status 504."""
    outcome = await connected(request, site, caller, mac)
    if outcome.grant is None:
        raise RefusedError(504, "failed", outcome.failure)
    return outcome


HANDLERS = (connect_device,)
