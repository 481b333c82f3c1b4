"""One's own account: register, sign in and out, change the password."""

from typing import Annotated

import msgspec
from litestar import Response
from litestar.params import JSONBody

from rookery.web.access import anybody, may, may_enrolling
from rookery.web.api.route import delete, get, post, put
from rookery.web.callers import Role
from rookery.web.connection import AnyRequest
from rookery.web.entrance import (
    Secrets,
    change_password,
    prove_again,
    register,
    sign_in,
    sign_out,
)
from rookery.web.given import TheCaller, TheSite
from rookery.web.logins import LENGTH_MAX
from rookery.web.passwords import BYTES_MAX
from rookery.web.session_cookie import session_cookie
from rookery.web.visits import visit

Login = Annotated[str, msgspec.Meta(min_length=1, max_length=LENGTH_MAX)]
Password = Annotated[str, msgspec.Meta(min_length=1, max_length=BYTES_MAX)]
Code = Annotated[str, msgspec.Meta(max_length=64)]  # of an authenticator app, or for recovery


class Credentials(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A login and its password."""

    login: Login
    password: Password

    def __repr__(self) -> str:
        return f"Credentials({self.login!r})"


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A login, its password, and a code where the account has a second factor."""

    login: Login
    password: Password
    code: Code = ""

    def __repr__(self) -> str:
        return f"Entry({self.login!r})"


class PasswordChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The password one has, and the one to have."""

    old: Password
    new: Password

    def __repr__(self) -> str:
        return "PasswordChange()"


class Proof(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """That it is still the same person."""

    password: Password
    code: Code = ""

    def __repr__(self) -> str:
        return "Proof()"


class Me(msgspec.Struct, frozen=True, kw_only=True):
    """Who one is."""

    login: str
    role: Role
    scopes: tuple[str, ...] | None = None  # of the token one came with; null: a session


@post("/accounts", opt=anybody(), tags=["account"], summary="Register")
async def register_account(request: AnyRequest, data: JSONBody[Credentials], site: TheSite) -> Me:
    """A new account with the role user; sign in next."""
    account = await register(site, data.login, data.password, visit(request, site))
    return Me(login=account.login, role=account.role)


@post("/session", opt=anybody(), tags=["account"], summary="Sign in")
async def open_session(request: AnyRequest, data: JSONBody[Entry], site: TheSite) -> Response[Me]:
    """The session's cookie comes with the answer; programs had better make a token with it.

    `code` is of an authenticator app, or a recovery code. One refusal for all that may be wrong.
    """
    came = visit(request, site)
    secrets = Secrets(data.password, data.code)
    account, key = await sign_in(site, data.login, secrets, came, request.user)
    cookie = session_cookie(key, site.settings.session_s, is_https=came.is_https)
    return Response(Me(login=account.login, role=account.role), cookies=[cookie])


@delete("/session", opt=may_enrolling(), tags=["account"], summary="Sign out", status_code=204)
async def close_session(request: AnyRequest, caller: TheCaller, site: TheSite) -> Response[None]:
    """End the session that asks."""
    came = visit(request, site)
    await sign_out(site, caller, came)
    return Response(None, status_code=204, cookies=[session_cookie("", 0, is_https=came.is_https)])


@post("/session/proof", opt=may_enrolling(), tags=["account"], status_code=204)
async def prove_session(
    request: AnyRequest, data: JSONBody[Proof], caller: TheCaller, site: TheSite
) -> None:
    """Give the password, and a code if there is a second factor, again; good for 15 minutes.

    Administering accounts, making tokens and changing factors needs it.
    """
    await prove_again(site, caller, Secrets(data.password, data.code), visit(request, site))


@get("/me", opt=may_enrolling("read"), tags=["account"], summary="Who am I")
async def me(caller: TheCaller) -> Me:
    scopes = None if caller.scopes is None else tuple(sorted(caller.scopes))
    return Me(login=caller.login, role=caller.role, scopes=scopes)


@put("/me/password", opt=may("user"), tags=["account"], summary="Change password", status_code=204)
async def put_password(
    request: AnyRequest, data: JSONBody[PasswordChange], caller: TheCaller, site: TheSite
) -> None:
    """Every other session of the account ends."""
    await change_password(site, caller, data.old, data.new, visit(request, site))


HANDLERS = (register_account, open_session, close_session, prove_session, me, put_password)
