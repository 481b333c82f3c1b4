"""API of the caller's account: register, sign in and out, change the password."""

from typing import Annotated

import msgspec
from litestar import Response
from litestar.params import JSONBody

from rookery.web.accounts.access import anyone, may, may_enrolling
from rookery.web.accounts.caller import Role
from rookery.web.accounts.names import LOGIN_LENGTH_MAX
from rookery.web.accounts.passwords import BYTES_MAX
from rookery.web.accounts.session_cookie import session_cookie
from rookery.web.accounts.sign_in import (
    SignInSecrets,
    change_password,
    prove_again,
    register,
    sign_in,
    sign_out,
)
from rookery.web.http.api_routes import delete, get, post, put
from rookery.web.http.dependencies import TheCaller, TheSite
from rookery.web.http.request import AnyRequest
from rookery.web.http.request_origin import request_origin

Login = Annotated[str, msgspec.Meta(min_length=1, max_length=LOGIN_LENGTH_MAX)]
Password = Annotated[str, msgspec.Meta(min_length=1, max_length=BYTES_MAX)]
Code = Annotated[str, msgspec.Meta(max_length=64)]  # of an authenticator app, or for recovery


class AccountRegistration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A login and its password."""

    login: Login
    password: Password

    def __repr__(self) -> str:
        return f"AccountRegistration({self.login!r})"


class SignInRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A login, its password, and a code where the account has a second factor."""

    login: Login
    password: Password
    code: Code = ""

    def __repr__(self) -> str:
        return f"SignInRequest({self.login!r})"


class PasswordChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The password one has, and the one to have."""

    old: Password
    new: Password

    def __repr__(self) -> str:
        return "PasswordChange()"


class SessionProof(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """That it is still the same person."""

    password: Password
    code: Code = ""

    def __repr__(self) -> str:
        return "SessionProof()"


class OwnAccount(msgspec.Struct, frozen=True, kw_only=True):
    """The caller's account."""

    login: str
    role: Role
    scopes: tuple[str, ...] | None = None  # of the token one came with; null: a session


@post("/accounts", opt=anyone(), tags=["account"], summary="Register")
async def register_account(
    request: AnyRequest, data: JSONBody[AccountRegistration], site: TheSite
) -> OwnAccount:
    """A new account with the role user; sign in next."""
    account = await register(site, data.login, data.password, request_origin(request, site))
    return OwnAccount(login=account.login, role=account.role)


@post("/session", opt=anyone(), tags=["account"], summary="Sign in")
async def open_session(
    request: AnyRequest, data: JSONBody[SignInRequest], site: TheSite
) -> Response[OwnAccount]:
    """The session's cookie comes with the answer; programs had better make a token with it.

    `code` is of an authenticator app, or a recovery code. One refusal for all that may be wrong.
    """
    origin = request_origin(request, site)
    secrets = SignInSecrets(data.password, data.code)
    account, key = await sign_in(site, data.login, secrets, origin, request.user)
    cookie = session_cookie(key, site.settings.session_s, is_https=origin.is_https)
    return Response(OwnAccount(login=account.login, role=account.role), cookies=[cookie])


@delete("/session", opt=may_enrolling(), tags=["account"], summary="Sign out", status_code=204)
async def close_session(request: AnyRequest, caller: TheCaller, site: TheSite) -> Response[None]:
    """End the session of this request."""
    origin = request_origin(request, site)
    await sign_out(site, caller, origin)
    return Response(
        None, status_code=204, cookies=[session_cookie("", 0, is_https=origin.is_https)]
    )


@post("/session/proof", opt=may_enrolling(), tags=["account"], status_code=204)
async def prove_session(
    request: AnyRequest, data: JSONBody[SessionProof], caller: TheCaller, site: TheSite
) -> None:
    """Give the password, and a code if there is a second factor, again; good for 15 minutes.

    Administering accounts, making tokens and changing factors needs it.
    """
    await prove_again(
        site, caller, SignInSecrets(data.password, data.code), request_origin(request, site)
    )


@get("/me", opt=may_enrolling("read"), tags=["account"], summary="Who am I")
async def me(caller: TheCaller) -> OwnAccount:
    scopes = None if caller.scopes is None else tuple(sorted(caller.scopes))
    return OwnAccount(login=caller.login, role=caller.role, scopes=scopes)


@put("/me/password", opt=may("user"), tags=["account"], summary="Change password", status_code=204)
async def put_password(
    request: AnyRequest, data: JSONBody[PasswordChange], caller: TheCaller, site: TheSite
) -> None:
    """Every other session of the account ends."""
    await change_password(site, caller, data.old, data.new, request_origin(request, site))


HANDLERS = (register_account, open_session, close_session, prove_session, me, put_password)
