"""API tokens: for programs, within scopes, shown once."""

from typing import Annotated

import msgspec
from litestar.params import FromPath, JSONBody

from rookery.store.accounts.tokens import NAME_SIZE_MAX, ApiToken
from rookery.web.accounts.access import may, may_after_proof, may_enrolling
from rookery.web.accounts.authentication import TOKEN_PREFIX, is_signed_in
from rookery.web.accounts.caller import SCOPES, Caller, Scope
from rookery.web.accounts.names import checked_name
from rookery.web.accounts.session_cookie import key_hash, new_key
from rookery.web.http.api_routes import delete, get, post
from rookery.web.http.dependencies import TheCaller, TheSite
from rookery.web.http.problems import RequestRefusedError, SignInRequiredError
from rookery.web.http.request import AnyRequest
from rookery.web.http.request_origin import RequestOrigin, record_audit, request_origin
from rookery.web.settings import DAY_S
from rookery.web.site import WebSite

_DAYS_MAX = 3660


class ApiTokenRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A token to make: what it is for, what it may, how long."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=NAME_SIZE_MAX)]
    scopes: Annotated[list[Scope], msgspec.Meta(min_length=1, max_length=len(SCOPES))] = (
        msgspec.field(default_factory=lambda: ["read", "connect"])
    )
    days: Annotated[int, msgspec.Meta(ge=1, le=_DAYS_MAX)] | None = 365  # null: until revoked


class ApiTokenShown(msgspec.Struct, frozen=True, kw_only=True):
    """A token, without what makes it one."""

    id: int
    name: str
    scopes: tuple[str, ...]
    created_at: float
    expires_at: float | None
    used_at: float | None


class NewApiToken(ApiTokenShown, frozen=True, kw_only=True):
    """The only time that the token itself is shown."""

    token: str

    def __repr__(self) -> str:
        return f"NewApiToken(id={self.id})"


@get("/tokens", opt=may("user"), tags=["tokens"], summary="My tokens")
async def list_tokens(caller: TheCaller, site: TheSite) -> list[ApiTokenShown]:
    return await my_tokens(site, caller)


@post("/tokens", opt=may_after_proof("user"), tags=["tokens"], summary="Make a token")
async def make_token(
    request: AnyRequest, data: JSONBody[ApiTokenRequest], caller: TheCaller, site: TheSite
) -> NewApiToken:
    """`read` looks, `connect` reaches devices, `write` changes things. No token makes tokens.

    Takes a session that was proved within the last 15 minutes.
    """
    return await made_token(site, caller, data, request_origin(request, site))


@delete("/tokens/{token:int}", opt=may("user"), tags=["tokens"], summary="Revoke", status_code=204)
async def revoke_token(
    request: AnyRequest, token: FromPath[int], caller: TheCaller, site: TheSite
) -> None:
    """It is refused from now on."""
    await revoke(site, caller, token, request_origin(request, site))


@delete("/token", opt=may_enrolling("any"), tags=["tokens"], summary="Sign out", status_code=204)
async def revoke_own_token(request: AnyRequest, caller: TheCaller, site: TheSite) -> None:
    """Revoke the token of this request: how a program signs out."""
    if not caller.token or not await site.tokens.remove(caller.token, caller.account):
        raise RequestRefusedError(404, "unknown", "you come with no token")
    await record_audit(
        site, caller.login, "token.revoke", str(caller.token), request_origin(request, site)
    )


async def my_tokens(site: WebSite, caller: Caller) -> list[ApiTokenShown]:
    """All of the caller's account."""
    return [_shown(token) for token in await site.tokens.of(caller.account)]


async def made_token(
    site: WebSite, caller: Caller, wanted: ApiTokenRequest, origin: RequestOrigin
) -> NewApiToken:
    """A new token, for once with what makes it one."""
    if len(await site.tokens.of(caller.account)) >= site.settings.limits.tokens_per_account:
        raise RequestRefusedError(409, "too_many_tokens", "revoke a token before you make another")
    text, now = TOKEN_PREFIX + new_key(), site.wall()
    token = await site.tokens.add(
        key_hash(text),
        caller.account,
        checked_name(wanted.name),
        tuple(scope for scope in SCOPES if scope in wanted.scopes),
        now=now,
        expires_at=None if wanted.days is None else now + wanted.days * DAY_S,
    )
    if not await is_signed_in(site, caller):  # what ended that missed the token
        await site.tokens.remove(token.id, caller.account)
        raise SignInRequiredError
    made = {"scopes": token.scopes, "name": token.name}
    await record_audit(site, caller.login, "token.make", str(token.id), origin, detail=made)
    return NewApiToken(token=text, **msgspec.structs.asdict(_shown(token)))


async def revoke(site: WebSite, caller: Caller, token: int, origin: RequestOrigin) -> None:
    """One of the account's tokens."""
    is_number = 0 < token < 1 << 63  # other numbers do not fit the column
    if not is_number or not await site.tokens.remove(token, caller.account):
        raise RequestRefusedError(404, "unknown", "you have no such token")
    await record_audit(site, caller.login, "token.revoke", str(token), origin)


def _shown(token: ApiToken) -> ApiTokenShown:
    return ApiTokenShown(
        id=token.id,
        name=token.name,
        scopes=token.scopes,
        created_at=token.created_at,
        expires_at=token.expires_at,
        used_at=token.used_at,
    )


HANDLERS = (list_tokens, make_token, revoke_token, revoke_own_token)
