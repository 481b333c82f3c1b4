"""The accounts of the hub, for administrators: list and add, change role or password, remove."""

from typing import get_args
from urllib.parse import quote, urlencode

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath
from litestar.response import Redirect

from rookery.errors import UsageError
from rookery.store.accounts.accounts import Account
from rookery.web.accounts.access import may, may_after_proof
from rookery.web.accounts.account_changes import (
    account_named,
    add_account,
    give_role,
    remove_another,
    reset_password,
)
from rookery.web.accounts.caller import Caller, Role
from rookery.web.accounts.names import normalised_login
from rookery.web.http.dependencies import TheCaller, TheSite
from rookery.web.http.problems import problem_of
from rookery.web.http.request import AnyRequest
from rookery.web.http.request_origin import request_origin
from rookery.web.pages.forms import form_fields
from rookery.web.pages.rendering import page
from rookery.web.site import WebSite

ROWS = 25  # factors, sessions and tokens are looked up for each
ROLES: tuple[Role, ...] = get_args(Role)
_HERE = "/fleet/accounts"
_ONE = f"{_HERE}/{{login:str}}"
_JSON = "/api/v1/accounts"
_CLI = "rookery fleet account list"
_ID_MAX = (1 << 63) - 1


class AccountRow(msgspec.Struct, frozen=True, kw_only=True):
    """An account, as the page shows it."""

    id: int
    login: str
    role: Role
    url: str
    created_at: float
    signed_in_at: float | None  # the newest of its open sessions
    has_factor: bool
    tokens: int  # those that have not expired


class AccountsFormResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a form, shown on the page again."""

    form: str = ""
    problem: str = ""
    login: str = ""  # typed in for a new account
    role: str = "user"


@get(_HERE, opt=may("admin"), include_in_schema=False)
async def accounts_page(request: AnyRequest, site: TheSite) -> Response[str]:
    """`?login=` finds one; `?after=` is the last id of the page before."""
    return await _list(request, site, AccountsFormResult(form=request.query_params.get("done", "")))


@post(_HERE, opt=may_after_proof("admin"), include_in_schema=False, status_code=200)
async def add(request: AnyRequest, caller: TheCaller, site: TheSite) -> Response[str] | Redirect:
    fields = await form_fields(request)
    login, role = fields.optional("login"), fields.optional("role") or "user"
    origin = request_origin(request, site)
    try:
        password = fields.text("password")
        account = await add_account(site, caller, login, password, _role(role), origin)
    except UsageError as error:
        problem = problem_of(error)
        said = AccountsFormResult(form="add", problem=problem.detail, login=login, role=role)
        return await _list(request, site, said, problem.status)
    return Redirect(f"{_url(account.login)}?done=add", status_code=303)


@get(_ONE, opt=may("admin"), include_in_schema=False)
async def account_page(
    request: AnyRequest, login: FromPath[str], caller: TheCaller, site: TheSite
) -> Response[str]:
    """One account; `?done=` names the form that was just filled in."""
    said = AccountsFormResult(form=request.query_params.get("done", ""))
    return await _one(request, site, caller, login, said)


@post(f"{_ONE}/role", opt=may_after_proof("admin"), include_in_schema=False, status_code=200)
async def change_role(
    request: AnyRequest, login: FromPath[str], caller: TheCaller, site: TheSite
) -> Response[str] | Redirect:
    fields = await form_fields(request)
    try:
        role = _role(fields.text("role"))
        account = await give_role(site, caller, login, role, request_origin(request, site))
    except UsageError as error:
        return await _again(request, site, caller, login, "role", error)
    return Redirect(f"{_url(account.login)}?done=role", status_code=303)


@post(f"{_ONE}/password", opt=may_after_proof("admin"), include_in_schema=False, status_code=200)
async def new_password(
    request: AnyRequest, login: FromPath[str], caller: TheCaller, site: TheSite
) -> Response[str] | Redirect:
    """Ends the sessions and tokens of the account."""
    fields = await form_fields(request)
    origin = request_origin(request, site)
    try:
        account = await reset_password(site, caller, login, fields.text("password"), origin)
    except UsageError as error:
        return await _again(request, site, caller, login, "password", error)
    return Redirect(f"{_url(account.login)}?done=password", status_code=303)


@post(f"{_ONE}/remove", opt=may_after_proof("admin"), include_in_schema=False)
async def remove(
    request: AnyRequest, login: FromPath[str], caller: TheCaller, site: TheSite
) -> Redirect:
    await remove_another(site, caller, login, request_origin(request, site))
    return Redirect(f"{_HERE}?done=remove", status_code=303)


async def _list(
    request: AnyRequest, site: WebSite, said: AccountsFormResult, status: int = 200
) -> Response[str]:
    wanted = normalised_login(request.query_params.get("login", ""))
    text = request.query_params.get("after", "")
    after = min(int(text), _ID_MAX) if text.isascii() and text.isdecimal() else 0
    if wanted:
        account = await site.accounts.find(wanted)
        found = [] if account is None else [account]
    else:
        found = await site.accounts.all(after=after, limit=ROWS + 1)
    rows = [await _row(site, account) for account in found[:ROWS]]
    values = {
        "said": said,
        "rows": rows,
        "roles": ROLES,
        "wanted": wanted,
        "is_first": not after,
        "next_url": "?" + urlencode({"after": rows[-1].id}) if len(found) > ROWS else "",
    }
    return page(request, "accounts.html", values, status, cli=_CLI, json=_JSON)


async def _again(
    request: AnyRequest, site: WebSite, caller: Caller, login: str, form: str, error: UsageError
) -> Response[str]:
    problem = problem_of(error)
    said = AccountsFormResult(form=form, problem=problem.detail)
    return await _one(request, site, caller, login, said, problem.status)


async def _one(
    request: AnyRequest,
    site: WebSite,
    caller: Caller,
    login: str,
    said: AccountsFormResult,
    status: int = 200,
) -> Response[str]:
    account = await account_named(site, login)
    values = {
        "said": said,
        "account": await _row(site, account),
        "roles": ROLES,
        "is_own": account.id == caller.account,
    }
    return page(request, "managed_account.html", values, status, cli=_CLI, json=_JSON)


async def _row(site: WebSite, account: Account) -> AccountRow:
    now = site.wall()
    sessions = await site.sessions.of(account.id, now)
    tokens = await site.tokens.of(account.id)
    return AccountRow(
        id=account.id,
        login=account.login,
        role=account.role,
        url=_url(account.login),
        created_at=account.created_at,
        signed_in_at=max((session.created_at for session in sessions), default=None),
        has_factor=(await site.factors.count(account.id)).is_any,
        tokens=sum(token.expires_at is None or token.expires_at > now for token in tokens),
    )


def _url(login: str) -> str:
    return f"{_HERE}/{quote(login, safe='')}"


def _role(text: str) -> Role:
    for role in ROLES:
        if role == text:
            return role
    raise UsageError("a role is user, operator or admin")


HANDLERS = (accounts_page, add, account_page, change_role, new_password, remove)
