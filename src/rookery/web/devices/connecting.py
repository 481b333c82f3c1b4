"""Connecting a client with a device: the wish, its steps as a stream or as one outcome."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, aclosing

import msgspec

from rookery.fleet.rendezvous.wish import Grant, Wish, WishStep
from rookery.web.accounts.caller import Caller
from rookery.web.devices.ownership import authority_over
from rookery.web.http.problems import RequestRefusedError, problem_of
from rookery.web.http.request import AnyRequest
from rookery.web.http.request_origin import RequestOrigin, record_audit, request_origin
from rookery.web.site import WebSite
from rookery.wire.fleet.mac import mac_text

EVENT_STREAM = "text/event-stream"
_encoder = msgspec.json.Encoder()


class DeviceConnectOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The steps; with a grant, the device waits at the server."""

    steps: list[WishStep]
    grant: Grant | None

    @property
    def failure(self) -> str:
        return "" if self.grant is not None or not self.steps else self.steps[-1].text


async def make_wish(site: WebSite, caller: Caller, mac: bytes, origin: RequestOrigin) -> Wish:
    """Make and audit a wish; 403 for a device of another owner, 409 for a silent one."""
    try:
        authority = await authority_over(site, caller, mac)
        wish = await site.hub.wish(mac, caller.login, authority, origin.address)
    except Exception as error:
        await record_audit(
            site, caller.login, "device.connect", mac_text(mac), origin, problem_of(error).code
        )
        raise
    await record_audit(site, caller.login, "device.connect", mac_text(mac), origin)
    return wish


async def step_stream(
    request: AnyRequest, site: WebSite, caller: Caller, mac: bytes
) -> AsyncIterator[bytes]:
    """Server-sent events, one for each step; the last is `done` with the grant, or `failed`."""
    with ExitStack() as place:
        place.enter_context(site.connect_limit.enter(caller.account))
        wish = await make_wish(site, caller, mac, request_origin(request, site))
        return _events(site, wish, place.pop_all())


async def _events(site: WebSite, wish: Wish, place: ExitStack) -> AsyncIterator[bytes]:
    with place:
        async with aclosing(site.connect_progress.steps(wish)) as steps:
            async for step in steps:
                if step is None:
                    yield b": \n\n"
                else:
                    yield b"event: %b\ndata: %b\n\n" % (step.name.encode(), _encoder.encode(step))


async def connected(
    request: AnyRequest, site: WebSite, caller: Caller, mac: bytes
) -> DeviceConnectOutcome:
    """Wait until it is done or failed; the wish is cancelled if the client disconnects."""
    with site.connect_limit.enter(caller.account):
        wish = await make_wish(site, caller, mac, request_origin(request, site))
        loop = asyncio.get_running_loop()
        collecting = loop.create_task(_collected(site, wish))
        leaving = loop.create_task(_left(request))
        try:
            await asyncio.wait({collecting, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if collecting.done():
                return collecting.result()
        finally:
            leaving.cancel()
            collecting.cancel()
            await asyncio.wait({collecting, leaving})
        raise RequestRefusedError(408, "left", "the client went away")  # not read by anyone


async def _collected(site: WebSite, wish: Wish) -> DeviceConnectOutcome:
    async with aclosing(site.connect_progress.steps(wish)) as steps:
        reported = [step async for step in steps if step is not None]
    return DeviceConnectOutcome(steps=reported, grant=reported[-1].grant if reported else None)


async def _left(request: AnyRequest) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
