"""The code of a second factor: which kind it is, and whether it is accepted.

Everything is looked up before the password is known to be right, and for unknown logins as well,
so that neither the answer nor its timing reveals whether a login exists.
"""

import msgspec

from rookery.store.accounts.accounts import Account
from rookery.web.accounts.factors.recovery_codes import normalised_code
from rookery.web.accounts.factors.totp import is_code, matching_step
from rookery.web.http.request_origin import RequestOrigin, record_audit
from rookery.web.site import WebSite


class SecondFactorCode(msgspec.Struct, frozen=True, kw_only=True):
    """A code, as far as it can be judged without using it up."""

    is_needed: bool
    text: str = ""
    step: int | None = None  # of the half minute that it is of
    recovery: bytes | None = None  # hash of the recovery code that it is

    def __repr__(self) -> str:
        return f"SecondFactorCode(is_needed={self.is_needed})"


async def look_up_code(site: WebSite, account: int, typed: str) -> SecondFactorCode:
    """For any account number, also one that there is not."""
    text = "".join(typed.split())
    counted = await site.factors.count(account)
    return SecondFactorCode(
        is_needed=counted.is_any,
        text=text,
        step=await _step(site, account, text),
        recovery=await _recovery(site, account, typed),
    )


async def refusal(
    site: WebSite, account: Account, code: SecondFactorCode, origin: RequestOrigin
) -> str:
    """Why the code is refused, the password being right; empty: accepted and spent."""
    if not code.is_needed:
        return ""
    if code.recovery is not None:
        if not await site.factors.spend_recovery_code(account.id, code.recovery):
            return "recovery code used before"
        left = (await site.factors.count(account.id)).recovery_codes
        spent = {"left": left}
        await record_audit(
            site, account.login, "factor.recover", account.login, origin, detail=spent
        )
        return ""
    if not code.text:
        return "no code"
    if not await site.login_throttle.take_code_try(account.login):
        return "too many wrong codes"
    if code.step is not None and await site.factors.spend_step(account.id, code.step):
        await site.login_throttle.was_right_code(account.login)
        return ""
    if await site.login_throttle.is_last_code(account.login):
        codes = {"of": "codes"}
        await record_audit(
            site, account.login, "session.lock_out", account.login, origin, detail=codes
        )
    return "wrong code"


async def _step(site: WebSite, account: int, text: str) -> int | None:
    app = await site.factors.totp(account)
    if app is None or app.confirmed_at is None or not is_code(text):
        return None
    secret = (await site.factor_keys()).opened(account, app.sealed)
    if secret is None:
        return None
    return matching_step(secret, text, site.wall(), app.last_step)


async def _recovery(site: WebSite, account: int, typed: str) -> bytes | None:
    code = normalised_code(typed)
    hashed = (await site.factor_keys()).recovery_hash(account, code)
    is_known = await site.factors.has_recovery_code(account, hashed)
    return hashed if code and is_known else None
