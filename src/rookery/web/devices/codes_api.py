"""API of enrolment codes: add a device or a server with one command."""

import msgspec
from litestar.params import FromPath, JSONBody

from rookery.fleet.entry import FleetKind
from rookery.web.accounts.access import may
from rookery.web.devices.enrolment_codes import NewEnrolmentCode, make_code
from rookery.web.http.api_routes import delete, get, post
from rookery.web.http.dependencies import TheCaller, TheSite
from rookery.web.http.problems import RequestRefusedError
from rookery.web.http.request import AnyRequest
from rookery.web.http.request_origin import record_audit, request_origin


class EnrolmentCodeRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the code is to add."""

    kind: FleetKind = "router"


class EnrolmentCodeShown(msgspec.Struct, frozen=True, kw_only=True):
    """A code that was made, without the code."""

    id: str
    kind: FleetKind
    created_at: float
    expires_at: float
    used_at: float | None


@get("/codes", opt=may("user", "read"), tags=["codes"], summary="Codes I made")
async def list_codes(caller: TheCaller, site: TheSite) -> list[EnrolmentCodeShown]:
    return [
        EnrolmentCodeShown(
            id=code.id.hex(),
            kind=code.kind,
            created_at=code.created_at,
            expires_at=code.expires_at,
            used_at=code.used_at,
        )
        for code in await site.codes.of(caller.account)
    ]


@post("/codes", opt=may("user", "write"), tags=["codes"], summary="Add a device or a server")
async def post_code(
    request: AnyRequest, data: JSONBody[EnrolmentCodeRequest], caller: TheCaller, site: TheSite
) -> NewEnrolmentCode:
    """A single-use code and the command to start the new one with; servers: operators only."""
    return await make_code(site, caller, data.kind, request_origin(request, site))


@delete("/codes/{code:str}", opt=may("user", "write"), tags=["codes"], status_code=204)
async def withdraw_code(
    request: AnyRequest, code: FromPath[str], caller: TheCaller, site: TheSite
) -> None:
    """Invalidate an unused code; `code` is its id."""
    try:
        raw = bytes.fromhex(code)
    except ValueError:
        raw = b""
    if not await site.codes.remove(raw, caller.account):
        raise RequestRefusedError(404, "unknown", "you made no such code")
    await record_audit(
        site, caller.login, "code.withdraw", raw.hex(), request_origin(request, site)
    )


HANDLERS = (list_codes, post_code, withdraw_code)
