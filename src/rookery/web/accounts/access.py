"""Access rules of routes. A route without one is closed.

Each handler carries `opt=…` made here; one guard over the whole application reads it.
"""

from typing import Literal

import msgspec
from litestar.handlers import BaseRouteHandler

from rookery.web.accounts.caller import Caller, Role, Scope
from rookery.web.http.problems import RequestRefusedError, SignInRequiredError
from rookery.web.http.request import Connection


class Access(msgspec.Struct, frozen=True):
    """The least role, and what a token must be good for; None: not by token, `any`: by each."""

    role: Role | None  # None: no sign-in needed
    scope: Scope | Literal["any"] | None = None
    is_recent: bool = False  # whether the session must have been proved recently
    is_enrolling: bool = False  # whether it is open without a required second factor


def anyone() -> dict[str, object]:
    """Open without signing in."""
    return {"access": Access(None)}


def may(role: Role, scope: Scope | Literal["any"] | None = None) -> dict[str, object]:
    """Open to this role and those above, by session, or by a token with this scope."""
    return {"access": Access(role, scope)}


def may_after_proof(role: Role) -> dict[str, object]:
    """Open to sessions of this role that were proved a short while ago; to no token."""
    return {"access": Access(role, is_recent=True)}


def may_enrolling(scope: Scope | Literal["any"] | None = None) -> dict[str, object]:
    """Open to every account, also before a required second factor is set up."""
    return {"access": Access("user", scope, is_enrolling=True)}


def may_enrolling_after_proof() -> dict[str, object]:
    """The same, for sessions that were proved recently."""
    return {"access": Access("user", is_recent=True, is_enrolling=True)}


def access_guard(connection: Connection, handler: BaseRouteHandler) -> None:
    """Check the caller's role, scope, second factor and proof against the route's rule."""
    access = handler.opt.get("access")
    if not isinstance(access, Access):
        raise RequestRefusedError(403, "denied", "this route is closed")
    if access.role is None:
        return
    caller: Caller | None = connection.scope.get("user")
    if caller is None:
        raise SignInRequiredError
    if not caller.is_at_least(access.role):
        raise RequestRefusedError(403, "role", f"this is for the role {access.role}")
    is_covered = caller.scopes is None or access.scope == "any" or access.scope in caller.scopes
    if not is_covered:
        needed = f"with the scope {access.scope}" if access.scope else "of no kind: sign in instead"
        raise RequestRefusedError(403, "scope", f"this takes a token {needed}")
    if caller.must_enrol and not access.is_enrolling:
        raise enrol_first()
    if access.is_recent and not caller.is_recent:
        raise prove_first()


def check_proved(caller: Caller) -> None:
    """For what depends on more than the route: no token, and a session proved a short while ago."""
    if caller.scopes is not None:
        raise RequestRefusedError(403, "scope", "this takes a token of no kind: sign in instead")
    if not caller.is_recent:
        raise prove_first()


def enrol_first() -> RequestRefusedError:
    """For accounts that need a second factor and have none."""
    detail = "this hub asks for a second factor; set one up in a browser, at /account/factors"
    return RequestRefusedError(403, "second_factor", detail)


def prove_first() -> RequestRefusedError:
    """For sessions whose last proof is too long ago."""
    detail = "prove first that it is you: POST /api/v1/session/proof"
    return RequestRefusedError(403, "proof", detail)
