"""Codes that let a device or a server enrol: shown once, stored as hashes."""

import secrets

import msgspec

from rookery.errors import DeniedError
from rookery.fleet.enrolment.code import EnrolmentCode
from rookery.fleet.enrolment.secrets import code_id, code_key, new_code
from rookery.fleet.entry import FleetKind
from rookery.store.fleet.codes import EnrolmentCodes, IssuedCode
from rookery.web.accounts.access import check_proved
from rookery.web.accounts.authentication import is_signed_in
from rookery.web.accounts.caller import Caller
from rookery.web.http.problems import RequestRefusedError, SignInRequiredError
from rookery.web.http.request_origin import RequestOrigin, record_audit
from rookery.web.site import WebSite


class NewEnrolmentCode(msgspec.Struct, frozen=True, kw_only=True):
    """A new code, shown this once, and the command to use it."""

    id: str
    kind: FleetKind
    code: str
    expires_at: float
    command: str

    def __repr__(self) -> str:
        return f"NewEnrolmentCode({self.id!r})"


async def add_code(
    codes: EnrolmentCodes, kind: FleetKind, owner: int | None, *, now: float, seconds: float
) -> tuple[str, EnrolmentCode]:
    """A new code as shown, and what is stored of it."""
    code = new_code(secrets.token_bytes)
    key = code_key(code)
    kept = EnrolmentCode(id=code_id(key), key=key, kind=kind, owner=owner, expires_at=now + seconds)
    await codes.add(kept, now=now)
    return code, kept


async def make_code(
    site: WebSite, caller: Caller, kind: FleetKind, origin: RequestOrigin
) -> NewEnrolmentCode:
    """For a device, which becomes the caller's; for a server, by operators only.

    A server reads the calls that pass it, so those are added by no token and after a recent proof.
    """
    if kind == "server":
        if not caller.is_at_least("operator"):
            raise DeniedError("only operators add servers")
        check_proved(caller)
    now = site.wall()
    mine = await site.codes.of(caller.account)
    if sum(_is_open(code, now) for code in mine) >= site.settings.limits.open_codes_per_account:
        raise RequestRefusedError(
            409, "too_many_codes", "use or withdraw a code before you make another"
        )
    code, stored = await add_code(
        site.codes, kind, caller.account, now=now, seconds=site.settings.code_s
    )
    if not await is_signed_in(site, caller):  # what ended that missed the code
        await site.codes.remove(stored.id, caller.account)
        raise SignInRequiredError
    await record_audit(
        site, caller.login, "code.make", stored.id.hex(), origin, detail={"kind": kind}
    )
    return NewEnrolmentCode(
        id=stored.id.hex(),
        kind=kind,
        code=code,
        expires_at=stored.expires_at,
        command=command(kind, code, site.hub.link.uri()),
    )


def command(kind: FleetKind, code: str, hub: str) -> str:
    """The shell command that enrols a new device or server."""
    if kind == "router":
        return f"ROOKERY_CODE={code} rookery agent --hub '{hub}'"
    return f"echo {code} > server.code; rookery server --hub '{hub}' --code-file server.code"


def _is_open(code: IssuedCode, now: float) -> bool:
    return code.used_at is None and code.expires_at > now
