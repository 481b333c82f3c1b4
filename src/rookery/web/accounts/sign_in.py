"""Registration, sign-in and sign-out, password change: shared by pages and API."""

import msgspec

from rookery.errors import DeniedError
from rookery.store.accounts.accounts import Account
from rookery.store.accounts.sessions import BrowserSession
from rookery.web.accounts.access import prove_first
from rookery.web.accounts.caller import Caller
from rookery.web.accounts.factors.passkey_answers import (
    PasskeyAuthentication,
    PasskeyChallenge,
    answered,
)
from rookery.web.accounts.factors.second_factor import look_up_code, refusal
from rookery.web.accounts.names import new_login, normalised_login
from rookery.web.accounts.passwords import check_new
from rookery.web.accounts.session_cookie import key_hash, new_key
from rookery.web.http.problems import RequestRefusedError, SignInRequiredError
from rookery.web.http.request_origin import RequestOrigin, record_audit
from rookery.web.site import WebSite


class SignInSecrets(msgspec.Struct, frozen=True):
    """Password, and a code if the account has a second factor."""

    password: str
    code: str = ""

    def __repr__(self) -> str:
        return "SignInSecrets()"


async def register(site: WebSite, login: str, password: str, origin: RequestOrigin) -> Account:
    """A new account with the role user."""
    if site.settings.registration == "closed":
        raise DeniedError("registration is closed here; an administrator adds accounts")
    spelled = new_login(login)
    check_new(password)
    await site.login_throttle.register(origin.address)
    # Hashed before looking whether the name is free, so that timing does not reveal it.
    hashed = await site.passwords.hash(password)
    account = await site.accounts.add(spelled, hashed, now=site.wall())
    await record_audit(site, spelled, "account.register", spelled, origin)
    return account


async def sign_in(
    site: WebSite, login: str, secrets: SignInSecrets, origin: RequestOrigin, before: Caller | None
) -> tuple[Account, str]:
    """The account and the key of a new session; the one that the browser had before ends."""
    account = await _proved(site, normalised_login(login), secrets, origin)
    return account, await _open_session(site, account, origin, before)


async def sign_in_by_passkey(
    site: WebSite,
    expected: PasskeyChallenge,
    credential: PasskeyAuthentication,
    origin: RequestOrigin,
    before: Caller | None,
) -> tuple[Account, str]:
    """The same, by passkey alone: its authenticator has verified the user."""
    passkey = await answered(site, expected, credential, origin)
    account = await site.accounts.get(passkey.account)
    if account is None:
        raise SignInRequiredError("the account is not there any more")
    return account, await _open_session(site, account, origin, before, by="passkey")


async def _open_session(
    site: WebSite,
    account: Account,
    origin: RequestOrigin,
    before: Caller | None,
    by: str = "password",
) -> str:
    key, now = new_key(), site.wall()
    until = now + min(site.settings.session_idle_s, site.settings.session_s)
    await site.sessions.add(
        BrowserSession(key_hash(key), account.id, now, now, until, origin.address, origin.browser)
    )
    is_there = await site.accounts.get(account.id)
    if is_there is None or is_there.password_hash != account.password_hash:
        await site.sessions.remove(key_hash(key))  # a new password has not ended this one
        raise SignInRequiredError("the password was changed just now")
    if before is not None and before.session:
        await site.sessions.remove(before.session)
    for oldest in (await site.sessions.of(account.id, now))[_sessions_max(site) :]:
        await site.sessions.remove(oldest.key_hash)
    await record_audit(
        site, account.login, "session.sign_in", account.login, origin, detail={"by": by}
    )
    return key


async def sign_out(site: WebSite, caller: Caller, origin: RequestOrigin) -> None:
    """End the caller's session."""
    await site.sessions.remove(caller.session)
    await record_audit(site, caller.login, "session.sign_out", caller.login, origin)


async def change_password(
    site: WebSite, caller: Caller, old: str, new: str, origin: RequestOrigin
) -> None:
    """Set a new password and end all other sessions: they may be an intruder's.

    With a second factor, the old password alone does not suffice: the session must be proved.
    """
    check_new(new)
    if not caller.is_recent and (await site.factors.count(caller.account)).is_any:
        raise prove_first()
    account = await _known(site, caller.login, old, origin)
    hashed = await site.passwords.hash(new)
    await site.accounts.set_password(account.id, hashed, kept=caller.session)
    await record_audit(site, caller.login, "account.password", caller.login, origin)


async def prove_again(
    site: WebSite, caller: Caller, secrets: SignInSecrets, origin: RequestOrigin
) -> None:
    """Mark the session as proved, which administration asks for, for a short while."""
    await _proved(site, caller.login, secrets, origin)
    await _proof(site, caller, origin, "password")


async def prove_by_passkey(
    site: WebSite,
    expected: PasskeyChallenge,
    caller: Caller,
    credential: PasskeyAuthentication,
    origin: RequestOrigin,
) -> None:
    """The same, by a passkey of the account."""
    await answered(site, expected, credential, origin)
    await _proof(site, caller, origin, "passkey")


async def _proof(site: WebSite, caller: Caller, origin: RequestOrigin, by: str) -> None:
    await site.sessions.prove(caller.session, site.wall())
    await record_audit(site, caller.login, "session.proof", caller.login, origin, detail={"by": by})


async def _proved(
    site: WebSite, login: str, secrets: SignInSecrets, origin: RequestOrigin
) -> Account:
    """Check password and, if needed, code; one refusal for both, so that it reveals neither."""
    await site.login_throttle.check(login, origin.address)
    account = await site.accounts.find(login)
    code = await look_up_code(site, 0 if account is None else account.id, secrets.code)
    is_right = await _is_password(site, account, secrets.password)
    if account is None or not is_right:
        raise await _wrong(site, account, login, "wrong password", origin)
    if why := await refusal(site, account, code, origin):
        raise await _wrong(site, account, login, why, origin)
    return account


async def _known(site: WebSite, login: str, password: str, origin: RequestOrigin) -> Account:
    """Check the password alone, for a session that is proved already."""
    await site.login_throttle.check(login, origin.address)
    account = await site.accounts.find(login)
    is_right = await _is_password(site, account, password)
    if account is None or not is_right:
        await _count(site, account, login, "wrong password", origin)
        raise RequestRefusedError(401, "wrong_password", "this is not the present password")
    return account


async def _is_password(site: WebSite, account: Account | None, password: str) -> bool:
    hashed = None if account is None else account.password_hash
    return await site.passwords.is_right(hashed, password)


async def _wrong(
    site: WebSite, account: Account | None, login: str, why: str, origin: RequestOrigin
) -> RequestRefusedError:
    await _count(site, account, login, why, origin)
    detail = "no such login, another password, or a missing or wrong code of the second factor"
    return RequestRefusedError(401, "wrong_password", detail)


async def _count(
    site: WebSite, account: Account | None, login: str, why: str, origin: RequestOrigin
) -> None:
    if account is not None:  # else invented logins would fill the database
        await record_audit(site, login, "session.sign_in", login, origin, why)
    is_locked = await site.login_throttle.was_wrong(login, origin.address)
    if account is not None and is_locked:
        await record_audit(site, login, "session.lock_out", login, origin)


def _sessions_max(site: WebSite) -> int:
    return site.settings.limits.sessions_per_account
