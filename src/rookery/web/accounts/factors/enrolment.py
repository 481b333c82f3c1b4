"""Setting up and removing second factors of the caller's account."""

import os

import msgspec

from rookery.store.accounts.second_factors import FactorCount, Totp
from rookery.web.accounts.caller import Caller
from rookery.web.accounts.factors.recovery_codes import new_codes, normalised_code
from rookery.web.accounts.factors.totp import (
    SECRET_SIZE,
    is_code,
    matching_step,
    otpauth_uri,
    secret_text,
)
from rookery.web.http.problems import RequestRefusedError, TooManyRequestsError
from rookery.web.http.request_origin import RequestOrigin, record_audit
from rookery.web.site import WebSite

_PROPOSED_S = 900  # in which the first code of a new app is to be given


class TotpProposal(msgspec.Struct, frozen=True, kw_only=True):
    """A new secret, shown until its first code comes; `uri` is what a QR code of it holds."""

    secret: str
    uri: str

    def __repr__(self) -> str:
        return "TotpProposal()"


async def propose_totp(site: WebSite, caller: Caller, issuer: str) -> TotpProposal:
    """A secret for an authenticator app; it counts for nothing until `confirm_totp`."""
    keys, secret = await site.factor_keys(), os.urandom(SECRET_SIZE)
    sealed = keys.sealed(caller.account, secret)
    proposed = Totp(account=caller.account, sealed=sealed, created_at=site.wall())
    if not await site.factors.propose(proposed):
        raise RequestRefusedError(
            409, "factor_there", "remove the authenticator app that is set up first"
        )
    return _shown(secret, issuer, caller)


async def proposed_totp(site: WebSite, caller: Caller, issuer: str) -> TotpProposal | None:
    """The secret that waits for its first code, once more; None if none does."""
    found = await _proposed(site, caller)
    return None if found is None else _shown(found[1], issuer, caller)


async def confirm_totp(
    site: WebSite, caller: Caller, typed: str, origin: RequestOrigin
) -> list[str]:
    """The first code came, so the app works; recovery codes, if this is the first factor."""
    found = await _proposed(site, caller)
    if found is None:
        raise RequestRefusedError(
            409, "no_proposal", "begin anew: there is no app that waits for a code"
        )
    app, secret = found
    if not await site.login_throttle.take_code_try(caller.login):
        raise TooManyRequestsError(site.settings.guesses.codes_window_s)
    text, before = "".join(typed.split()), await site.factors.count(caller.account)
    step = matching_step(secret, text, site.wall(), app.last_step) if is_code(text) else None
    if step is None:
        raise RequestRefusedError(
            403, "wrong_code", "this is not the code that the app should show now"
        )
    if not await site.factors.confirm(app, step, site.wall()):
        raise RequestRefusedError(
            409, "no_proposal", "another app was set up meanwhile; begin anew"
        )
    await site.login_throttle.was_right_code(caller.login)
    await note_factor(site, caller, "factor.add", "totp", origin)
    return await codes_of_first(site, caller, before, origin)


async def remove_totp(site: WebSite, caller: Caller, origin: RequestOrigin) -> None:
    """Its codes are worth nothing from now on."""
    if not await site.factors.remove_totp(caller.account):
        raise RequestRefusedError(404, "unknown", "you have no authenticator app")
    await note_factor(site, caller, "factor.remove", "totp", origin)


async def remove_passkey(site: WebSite, caller: Caller, number: int, origin: RequestOrigin) -> None:
    """One of the account's."""
    is_number = 0 < number < 1 << 63  # other numbers do not fit the column
    if not is_number or not await site.factors.remove_passkey(caller.account, number):
        raise RequestRefusedError(404, "unknown", "you have no such passkey")
    await note_factor(site, caller, "factor.remove", "passkey", origin)


async def renew_recovery_codes(site: WebSite, caller: Caller, origin: RequestOrigin) -> list[str]:
    """Ten new ones; those of before are worth nothing from now on."""
    if not (await site.factors.count(caller.account)).is_any:
        raise RequestRefusedError(
            409, "no_factor", "set up an authenticator app or a passkey first"
        )
    await note_factor(site, caller, "factor.add", "recovery codes", origin)
    return await _new_codes(site, caller)


async def codes_of_first(
    site: WebSite, caller: Caller, before: FactorCount, origin: RequestOrigin
) -> list[str]:
    """The first factor ends all sessions opened without one, and brings recovery codes."""
    if before.is_any:
        return []
    for session in await site.sessions.of(caller.account, site.wall()):
        if session.key_hash != caller.session:
            await site.sessions.remove(session.key_hash)
    await record_audit(site, caller.login, "session.end", "all others", origin)
    return await _new_codes(site, caller)


async def note_factor(
    site: WebSite, caller: Caller, what: str, kind: str, origin: RequestOrigin
) -> None:
    """One row of the audit."""
    await record_audit(site, caller.login, what, caller.login, origin, detail={"kind": kind})


async def _new_codes(site: WebSite, caller: Caller) -> list[str]:
    keys, codes = await site.factor_keys(), new_codes(os.urandom)
    hashes = [keys.recovery_hash(caller.account, normalised_code(code)) for code in codes]
    await site.factors.replace_recovery_codes(caller.account, hashes, site.wall())
    return codes


async def _proposed(site: WebSite, caller: Caller) -> tuple[Totp, bytes] | None:
    app = await site.factors.totp(caller.account)
    if app is None or app.confirmed_at is not None:
        return None
    if not 0 <= site.wall() - app.created_at < _PROPOSED_S:
        return None
    secret = (await site.factor_keys()).opened(caller.account, app.sealed)
    return None if secret is None else (app, secret)


def _shown(secret: bytes, issuer: str, caller: Caller) -> TotpProposal:
    return TotpProposal(secret=secret_text(secret), uri=otpauth_uri(secret, issuer, caller.login))
