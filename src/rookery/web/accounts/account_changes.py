"""Changes of accounts by an administrator, each with its row in the audit; for API and page."""

from rookery.store.accounts.accounts import Account
from rookery.web.accounts.caller import Caller, Role
from rookery.web.accounts.names import new_login, normalised_login
from rookery.web.accounts.passwords import check_new
from rookery.web.http.problems import RequestRefusedError
from rookery.web.http.request_origin import RequestOrigin, record_audit
from rookery.web.site import WebSite


async def add_account(
    site: WebSite, caller: Caller, login: str, password: str, role: Role, origin: RequestOrigin
) -> Account:
    """Open or closed registration makes no difference to administrators."""
    spelled = new_login(login)
    check_new(password)
    hashed = await site.passwords.hash(password)
    account = await site.accounts.add(spelled, hashed, now=site.wall(), role=role)
    detail = {"role": role}
    await record_audit(site, caller.login, "account.add", spelled, origin, detail=detail)
    return account


async def give_role(
    site: WebSite, caller: Caller, login: str, role: Role, origin: RequestOrigin
) -> Account:
    """Give another account a role; not your own, so that an administrator always remains."""
    account = await _another(site, caller, login)
    await site.accounts.set_role(account.id, role)
    detail = {"from": account.role, "to": role}
    await record_audit(site, caller.login, "account.role", account.login, origin, detail=detail)
    return account


async def reset_password(
    site: WebSite, caller: Caller, login: str, password: str, origin: RequestOrigin
) -> Account:
    """Ends the account's sessions, tokens and open codes; its second factors stay.

    Your own password is changed with the old one, on the account page.
    """
    account = await _another(site, caller, login)
    check_new(password)
    await site.accounts.set_password(account.id, await site.passwords.hash(password))
    await record_audit(site, caller.login, "account.password", account.login, origin)
    return account


async def remove_another(site: WebSite, caller: Caller, login: str, origin: RequestOrigin) -> None:
    """Removes its sessions and tokens as well; its devices become unowned."""
    account = await _another(site, caller, login)
    await site.accounts.remove(account.id)
    await record_audit(site, caller.login, "account.remove", account.login, origin)


async def account_named(site: WebSite, login: str) -> Account:
    """404 if there is none."""
    account = await site.accounts.find(normalised_login(login))
    if account is None:
        raise RequestRefusedError(404, "unknown", "there is no such account")
    return account


async def _another(site: WebSite, caller: Caller, login: str) -> Account:
    account = await account_named(site, login)
    if account.id == caller.account:
        raise RequestRefusedError(409, "oneself", "another administrator has to do that to you")
    return account
