"""API of requests queued in the outbox of the hub's mesh node."""

from typing import Annotated

from litestar.params import FromPath, PathParameter

from rookery.errors import UsageError
from rookery.web.accounts.access import may
from rookery.web.devices import ownership
from rookery.web.http.api_routes import delete, get
from rookery.web.http.dependencies import TheCaller, TheSite
from rookery.web.http.problems import RequestRefusedError
from rookery.web.http.request import AnyRequest
from rookery.web.http.request_origin import record_audit, request_origin
from rookery.web.mesh.api import mesh_of
from rookery.web.mesh.graph import MemberShown, QueuedRequest, QueueShown, member_by_name
from rookery.web.mesh.source import MeshSource
from rookery.wire.fleet.mac import mac_text, parse_mac

RequestId = Annotated[int, PathParameter(ge=0, le=2**62)]


@get("/mesh/queues", opt=may("operator", "read"), tags=["queues"], summary="All queues of the node")
async def list_queues(site: TheSite) -> list[QueueShown]:
    return await mesh_of(site).queues()


@get("/mesh/queues/{node:str}", opt=may("operator", "read"), tags=["queues"], summary="One queue")
async def get_queue(node: FromPath[str], site: TheSite) -> list[QueuedRequest]:
    """What waits for a member, oldest first."""
    source = mesh_of(site)
    return await source.queue(member_by_name(await source.graph(), node).hashname)


@delete(
    "/mesh/queues/{node:str}/{request_id:int}",
    opt=may("operator", "write"),
    tags=["queues"],
    summary="Cancel a request",
    status_code=204,
)
async def cancel_request(
    request: AnyRequest,
    node: FromPath[str],
    request_id: RequestId,
    caller: TheCaller,
    site: TheSite,
) -> None:
    """409 when it is gone, or may have been written already."""
    source = mesh_of(site)
    hashname = member_by_name(await source.graph(), node).hashname
    await _cancel(source, hashname, request_id)
    detail = {"request": request_id}
    await record_audit(
        site, caller.login, "queue.cancel", hashname, request_origin(request, site), detail=detail
    )


@get(
    "/devices/{mac:str}/queue",
    opt=may("user", "read"),
    tags=["queues"],
    summary="What waits for my device",
)
async def get_device_queue(
    mac: FromPath[str], caller: TheCaller, site: TheSite
) -> list[QueuedRequest]:
    """Oldest first; nothing waits for a device that is no member of the mesh."""
    device = await ownership.my_device(site, caller, parse_mac(mac))
    source = mesh_of(site)
    member = await _member(source, device.hashname)
    return [] if member is None else await source.queue(member.hashname)


@delete(
    "/devices/{mac:str}/queue/{request_id:int}",
    opt=may("user", "write"),
    tags=["queues"],
    summary="Cancel what waits for my device",
    status_code=204,
)
async def cancel_device_request(
    request: AnyRequest,
    mac: FromPath[str],
    request_id: RequestId,
    caller: TheCaller,
    site: TheSite,
) -> None:
    """409 when it is gone, or may have been written already."""
    address = parse_mac(mac)
    device = await ownership.my_device(site, caller, address)
    source = mesh_of(site)
    member = await _member(source, device.hashname)
    if member is None:
        raise RequestRefusedError(409, "gone", f"no request {request_id} waits for this device")
    await _cancel(source, member.hashname, request_id)
    origin, detail = request_origin(request, site), {"request": request_id}
    await record_audit(site, caller.login, "queue.cancel", mac_text(address), origin, detail=detail)


async def _member(source: MeshSource, hashname: str) -> MemberShown | None:
    """By full hashname, as names are not unique."""
    graph = await source.graph()
    return next((one for one in graph.members if hashname and one.hashname == hashname), None)


async def _cancel(source: MeshSource, hashname: str, request_id: int) -> None:
    try:
        await source.cancel(hashname, request_id)
    except UsageError as error:
        raise RequestRefusedError(409, "gone", str(error)) from error


HANDLERS = (list_queues, get_queue, cancel_request, get_device_queue, cancel_device_request)
