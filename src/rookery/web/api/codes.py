"""Claim codes: adding a router or a server with one command."""

import msgspec
from litestar.params import FromPath, JSONBody

from rookery.fleet.entry import Kind
from rookery.web.access import may
from rookery.web.api.route import delete, get, post
from rookery.web.connection import AnyRequest
from rookery.web.enrolling import CodeMade, make_code
from rookery.web.given import TheCaller, TheSite
from rookery.web.problems import RefusedError
from rookery.web.visits import note, visit


class CodeWanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the code is to add."""

    kind: Kind = "router"


class CodeShown(msgspec.Struct, frozen=True, kw_only=True):
    """A code that was made, without the code."""

    id: str
    kind: Kind
    created_at: float
    expires_at: float
    used_at: float | None


@get("/codes", opt=may("user", "read"), tags=["codes"], summary="Codes I made")
async def list_codes(caller: TheCaller, site: TheSite) -> list[CodeShown]:
    return [
        CodeShown(
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
    request: AnyRequest, data: JSONBody[CodeWanted], caller: TheCaller, site: TheSite
) -> CodeMade:
    """A single-use code and the command to start the new one with; servers: operators only."""
    return await make_code(site, caller, data.kind, visit(request, site))


@delete("/codes/{code:str}", opt=may("user", "write"), tags=["codes"], status_code=204)
async def withdraw_code(
    request: AnyRequest, code: FromPath[str], caller: TheCaller, site: TheSite
) -> None:
    """Nobody can use it then; `code` is its id."""
    try:
        raw = bytes.fromhex(code)
    except ValueError:
        raw = b""
    if not await site.codes.remove(raw, caller.account):
        raise RefusedError(404, "unknown", "you made no such code")
    await note(site, caller.login, "code.withdraw", raw.hex(), visit(request, site))


HANDLERS = (list_codes, post_code, withdraw_code)
