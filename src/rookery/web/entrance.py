"""Registering, signing in and out, changing the password: the same for pages and programs."""

from rookery.errors import DeniedError
from rookery.store.accounts import Account
from rookery.store.sessions import Session
from rookery.web.callers import Caller
from rookery.web.logins import new_login, normalised
from rookery.web.passwords import check_new
from rookery.web.problems import RefusedError
from rookery.web.session_cookie import key_hash, new_key
from rookery.web.site import Site
from rookery.web.visits import Visit, note


async def register(site: Site, login: str, password: str, came: Visit) -> Account:
    """A new account with the role user."""
    if site.settings.registration == "closed":
        raise DeniedError("registration is closed here; an administrator adds accounts")
    spelled = new_login(login)
    check_new(password)
    await site.guessing.register(came.address)
    # Hashed before it is known whether the name is free, so that the time does not tell.
    hashed = await site.passwords.hash(password)
    account = await site.accounts.add(spelled, hashed, now=site.wall())
    await note(site, spelled, "account.register", spelled, came)
    return account


async def sign_in(
    site: Site, login: str, password: str, came: Visit, before: Caller | None
) -> tuple[Account, str]:
    """The account and the key of a new session; the one that the browser had before ends."""
    spelled = normalised(login)
    account = await _proved(site, spelled, password, came)
    key, now = new_key(), site.wall()
    until = now + min(site.settings.session_idle_s, site.settings.session_s)
    await site.sessions.add(
        Session(key_hash(key), account.id, now, now, until, came.address, came.browser)
    )
    if before is not None and before.session:
        await site.sessions.remove(before.session)
    for oldest in (await site.sessions.of(account.id, now))[_sessions_max(site) :]:
        await site.sessions.remove(oldest.key_hash)
    await note(site, account.login, "session.sign_in", account.login, came)
    return account, key


async def sign_out(site: Site, caller: Caller, came: Visit) -> None:
    """End the session that asks for it."""
    await site.sessions.remove(caller.session)
    await note(site, caller.login, "session.sign_out", caller.login, came)


async def change_password(site: Site, caller: Caller, old: str, new: str, came: Visit) -> None:
    """And end every other session: somebody else may be the reason for the change."""
    check_new(new)
    account = await _proved(site, caller.login, old, came)
    await site.accounts.set_password(account.id, await site.passwords.hash(new))
    for session in await site.sessions.of(account.id, site.wall()):
        if session.key_hash != caller.session:
            await site.sessions.remove(session.key_hash)
    await note(site, caller.login, "account.password", caller.login, came)


async def prove_again(site: Site, caller: Caller, password: str, came: Visit) -> None:
    """From now on, and for a short while, the session may administer accounts."""
    await _proved(site, caller.login, password, came)
    await site.sessions.prove(caller.session, site.wall())
    await note(site, caller.login, "session.proof", caller.login, came)


async def _proved(site: Site, login: str, password: str, came: Visit) -> Account:
    await site.guessing.check(login, came.address)
    account = await site.accounts.find(login)
    hashed = None if account is None else account.password_hash
    is_right = await site.passwords.is_right(hashed, password)
    if account is not None and is_right:
        return account
    if account is not None:  # rows of logins that nobody has would let strangers fill the database
        await note(site, login, "session.sign_in", login, came, "wrong password")
    is_locked = await site.guessing.was_wrong(login, came.address)
    if account is not None and is_locked:
        await note(site, login, "session.lock_out", login, came)
    raise RefusedError(401, "wrong_password", "no such login, or another password")


def _sessions_max(site: Site) -> int:
    return site.settings.limits.sessions_per_account
