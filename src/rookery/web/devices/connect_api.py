"""API to connect to a device: the steps as a stream, or the outcome alone."""

from litestar import Response
from litestar.openapi import ResponseSpec
from litestar.params import FromPath
from litestar.response import Stream

from rookery.web.accounts.access import may
from rookery.web.accounts.caller import Caller
from rookery.web.devices.connecting import (
    EVENT_STREAM,
    DeviceConnectOutcome,
    connected,
    step_stream,
)
from rookery.web.http.api_routes import PROBLEMS, post
from rookery.web.http.dependencies import TheCaller, TheSite
from rookery.web.http.problems import MEDIA_TYPE, ProblemDetails, RequestRefusedError
from rookery.web.http.request import AnyRequest, preferred
from rookery.web.site import WebSite
from rookery.wire.fleet.mac import parse_mac

_JSON = "application/json"
_UNBUFFERED = {"X-Accel-Buffering": "no"}  # else some proxies keep the steps to themselves
_OUTCOME = ResponseSpec(
    DeviceConnectOutcome,
    description="How it went, or the steps as events.",
    generate_examples=False,
)
_FAILED = ResponseSpec(
    ProblemDetails,
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
) -> Response[DeviceConnectOutcome] | Stream:
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
    """True if `Accept` prefers JSON to the stream."""
    return preferred(request, [EVENT_STREAM, _JSON]) == _JSON


async def granted(
    request: AnyRequest, site: WebSite, caller: Caller, mac: bytes
) -> DeviceConnectOutcome:
    """Wait for the grant; a failure is answered with 504."""
    outcome = await connected(request, site, caller, mac)
    if outcome.grant is None:
        raise RequestRefusedError(504, "failed", outcome.failure)
    return outcome


HANDLERS = (connect_device,)
