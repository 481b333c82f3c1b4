"""`rookery fleet account`: the hub's accounts, worked on directly in its database.

Access to that file makes one the hub's administrator, so no sign-in is needed here.
"""

import getpass
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from rookery.cli.fleet.hub_database import DATABASE_OPTIONS, HubDatabaseOptions, hub_database
from rookery.cli.runner import run_verb
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_fields, print_json, print_table
from rookery.errors import UsageError

if TYPE_CHECKING:
    from rookery.store.accounts.accounts import Account, Accounts
    from rookery.store.database.database import Database

PASSWORD_ENVIRONMENT = "ROOKERY_PASSWORD"  # noqa: S105 - its name
_PASSWORD_SIZE_MAX = 4096
_LOGIN_ARGUMENT = "rookery fleet"

Login = Annotated[str, Parameter(name="LOGIN", help="Whose.")]
Role = Literal["user", "operator", "admin"]
PasswordFile = Annotated[
    Path | None,
    Parameter(
        name="--password-file",
        help=f"File whose first line is the password; else {PASSWORD_ENVIRONMENT}, or stdin.",
    ),
]

app = App(name="account")


@app.command(help_epilogue="Example:  echo 'correct horse' | rookery fleet account add ann")
def add(
    login: Login,
    /,
    *,
    role: Annotated[Role, Parameter(name="--role", help="What they may do.")] = "user",
    password_file: PasswordFile = None,
    store: HubDatabaseOptions = DATABASE_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    """Add an account; the password comes from a file, the environment or stdin."""
    return run_verb(_add(login, role, _password(password_file), store, output))


@app.command(name="list", help_epilogue="Example:  rookery fleet account list --json")
def list_accounts(*, store: HubDatabaseOptions = DATABASE_OPTIONS, output: Output = OUTPUT) -> int:
    """List all accounts."""
    return run_verb(_list(store, output))


@app.command(help_epilogue="Example:  rookery fleet account role ann operator")
def role(
    login: Login,
    role: Annotated[Role, Parameter(name="ROLE", help="What they may do from now on.")],
    /,
    *,
    store: HubDatabaseOptions = DATABASE_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    """Give an account another role."""
    return run_verb(_set_role(login, role, store, output))


@app.command(
    help_epilogue="Example:  rookery fleet account password ann --password-file new.password"
)
def password(
    login: Login,
    /,
    *,
    password_file: PasswordFile = None,
    store: HubDatabaseOptions = DATABASE_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    """Give an account another password, and end its sessions."""
    return run_verb(_set_password(login, _password(password_file), store, output))


@app.command(
    name="reset-factors", help_epilogue="Example:  rookery fleet account reset-factors ann"
)
def reset_factors(
    login: Login, /, *, store: HubDatabaseOptions = DATABASE_OPTIONS, output: Output = OUTPUT
) -> int:
    """Remove an account's second factors, for a lost device, and end its sessions."""
    return run_verb(_reset_factors(login, store, output))


@app.command(help_epilogue="Example:  rookery fleet account remove ann")
def remove(
    login: Login, /, *, store: HubDatabaseOptions = DATABASE_OPTIONS, output: Output = OUTPUT
) -> int:
    """Remove an account; its devices then have no owner."""
    return run_verb(_remove(login, store, output))


async def _add(
    login: str, role: Role, password: str, store: HubDatabaseOptions, output: Output
) -> int:
    async with hub_database(store) as database:
        from rookery.store.accounts.accounts import Accounts
        from rookery.web.accounts.names import new_login

        hashed = await _hashed(password)
        account = await Accounts(database).add(new_login(login), hashed, now=time.time(), role=role)
        await _note(database, "account.add", account.login, {"role": role})
    _print(account, output)
    return OK


async def _list(store: HubDatabaseOptions, output: Output) -> int:
    async with hub_database(store) as database:
        from rookery.store.accounts.accounts import Accounts

        accounts, listed = Accounts(database), 0
        found: list[Account] = []
        while page := await accounts.all(after=listed):
            found += page
            listed = page[-1].id
    if output.json:
        for account in found:
            print_json(_shown(account))
    else:
        rows = [(str(one.id), one.login, one.role, _moment(one.created_at)) for one in found]
        print_table(("id", "login", "role", "created"), rows)
    return OK


async def _set_role(login: str, role: Role, store: HubDatabaseOptions, output: Output) -> int:
    async with hub_database(store) as database:
        accounts, account = await _found(database, login)
        await accounts.set_role(account.id, role)
        changed = {"from": account.role, "to": role}
        await _note(database, "account.role", account.login, changed)
        _, account = await _found(database, login)
    _print(account, output)
    return OK


async def _set_password(
    login: str, password: str, store: HubDatabaseOptions, output: Output
) -> int:
    async with hub_database(store) as database:
        accounts, account = await _found(database, login)
        await accounts.set_password(account.id, await _hashed(password))
        await _note(database, "account.password", account.login)
    _print(account, output)
    return OK


async def _reset_factors(login: str, store: HubDatabaseOptions, output: Output) -> int:
    async with hub_database(store) as database:
        from rookery.store.accounts.second_factors import SecondFactors
        from rookery.store.accounts.sessions import BrowserSessions as Sessions

        _, account = await _found(database, login)
        there = await SecondFactors(database).remove_all(account.id)
        await Sessions(database).remove_all(account.id)
        removed = {"totp": there.has_totp, "passkeys": there.passkeys}
        await _note(database, "account.reset_factors", account.login, removed)
    _print(account, output)
    return OK


async def _remove(login: str, store: HubDatabaseOptions, output: Output) -> int:
    async with hub_database(store) as database:
        accounts, account = await _found(database, login)
        await accounts.remove(account.id)
        await _note(database, "account.remove", account.login)
    _print(account, output)
    return OK


async def _found(database: "Database", login: str) -> "tuple[Accounts, Account]":
    from rookery.store.accounts.accounts import Accounts
    from rookery.web.accounts.names import normalised_login

    accounts = Accounts(database)
    account = await accounts.find(normalised_login(login))
    if account is None:
        raise UsageError(f"there is no account {login}; see: rookery fleet account list")
    return accounts, account


async def _hashed(password: str) -> str:
    from rookery.web.accounts.passwords import Passwords, check_new
    from rookery.web.settings import PasswordCost

    check_new(password)
    return await Passwords(PasswordCost()).hash(password)


async def _note(
    database: "Database", what: str, login: str, detail: Mapping[str, object] | None = None
) -> None:
    from rookery.store.accounts.audit import AuditRow, AuditTrail

    full_detail = {"outcome": "ok", **(detail or {})}
    row = AuditRow(at=time.time(), who=_LOGIN_ARGUMENT, what=what, target=login, detail=full_detail)
    await AuditTrail(database).add(row)


def _password(file: Path | None) -> str:
    """From a file, the environment, or the first line of stdin; never from the arguments."""
    try:
        if file is not None:
            with file.open(encoding="utf-8") as stream:
                text = stream.readline(_PASSWORD_SIZE_MAX)
        elif (text := os.environ.get(PASSWORD_ENVIRONMENT, "")) == "":
            is_typed = sys.stdin.isatty()
            text = getpass.getpass() if is_typed else sys.stdin.readline(_PASSWORD_SIZE_MAX)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read a password: {error}") from error
    if not (password := text.rstrip("\r\n")):
        raise UsageError(
            f"no password; pipe it, set {PASSWORD_ENVIRONMENT}, or give --password-file"
        )
    return password


def _shown(account: "Account") -> dict[str, object]:
    return {
        "id": account.id,
        "login": account.login,
        "role": account.role,
        "created_at": account.created_at,
    }


def _print(account: "Account", output: Output) -> None:
    if output.json:
        print_json(_shown(account))
    else:
        print_fields([("login", account.login), ("role", account.role)])


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
