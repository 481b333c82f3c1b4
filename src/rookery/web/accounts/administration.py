"""For administrators: accounts and their roles, and the audit."""

from typing import Annotated

import msgspec
from litestar.params import FromPath, JSONBody, QueryParameter

from rookery.store.accounts.accounts import Account
from rookery.store.accounts.audit import AuditRow
from rookery.web.accounts.access import may, may_after_proof
from rookery.web.accounts.account_changes import give_role, remove_another
from rookery.web.accounts.caller import Role
from rookery.web.http.api_routes import delete, get, patch
from rookery.web.http.dependencies import TheCaller, TheSite
from rookery.web.http.request import AnyRequest
from rookery.web.http.request_origin import request_origin

_TAGS = ["administration"]
_ROWS = 100
_ROWS_MAX = 500
_TEXT_MAX = 128
_ID_MAX = (1 << 63) - 1

Count = Annotated[int, QueryParameter(ge=1, le=_ROWS_MAX)]
Id = Annotated[int, QueryParameter(ge=0, le=_ID_MAX)]


class AccountShown(msgspec.Struct, frozen=True, kw_only=True):
    """An account, as administrators see it."""

    id: int
    login: str
    role: Role
    created_at: float


class RoleChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The new role of an account."""

    role: Role


@get("/accounts", opt=may("admin", "read"), tags=_TAGS, summary="All accounts")
async def list_accounts(site: TheSite, after: Id = 0, count: Count = _ROWS) -> list[AccountShown]:
    """In the order of their ids; `after` is the last id of the page before."""
    return [_shown(account) for account in await site.accounts.all(after=after, limit=count)]


@patch("/accounts/{login:str}", opt=may_after_proof("admin"), tags=_TAGS)
async def change_role(
    request: AnyRequest,
    login: FromPath[str],
    data: JSONBody[RoleChange],
    caller: TheCaller,
    site: TheSite,
) -> AccountShown:
    """Give another account a role; not your own, so that an administrator always remains."""
    account = await give_role(site, caller, login, data.role, request_origin(request, site))
    return _shown(msgspec.structs.replace(account, role=data.role))


@delete("/accounts/{login:str}", opt=may_after_proof("admin"), tags=_TAGS, status_code=204)
async def remove_account(
    request: AnyRequest, login: FromPath[str], caller: TheCaller, site: TheSite
) -> None:
    """Removes its sessions and tokens as well; its devices become unowned."""
    await remove_another(site, caller, login, request_origin(request, site))


@get("/audit", opt=may("admin", "read"), tags=_TAGS, summary="Who did what")
async def list_audit(
    site: TheSite,
    who: Annotated[str | None, QueryParameter(max_length=_TEXT_MAX)] = None,
    target: Annotated[str | None, QueryParameter(max_length=_TEXT_MAX)] = None,
    what: Annotated[str | None, QueryParameter(max_length=_TEXT_MAX)] = None,
    before: Annotated[int | None, QueryParameter(ge=0, le=_ID_MAX)] = None,
    count: Count = _ROWS,
) -> list[AuditRow]:
    """The newest first; `before` is the last id of the page before.

    `what` is the whole of it, or what is before a point: `device` finds `device.claim`.
    """
    return await site.audit.latest(who=who, target=target, what=what, before=before, limit=count)


def _shown(account: Account) -> AccountShown:
    return AccountShown(
        id=account.id, login=account.login, role=account.role, created_at=account.created_at
    )


HANDLERS = (list_accounts, change_role, remove_account, list_audit)
