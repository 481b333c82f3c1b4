"""`rookery fleet account` and `rookery fleet code`, on a hub's database (F13, F14)."""

import asyncio
from pathlib import Path

from rookery.fleet.secrets import code_id, code_key
from rookery.store.accounts import Account, Accounts
from rookery.store.audit import Audit, AuditRow
from rookery.store.codes import Codes
from rookery.store.database import Database
from rookery.web.passwords import Passwords
from rookery.web.settings import PasswordCost
from tests.cli.program import rookery

PASSWORD = "correct horse"


def account(folder: Path, login: str) -> Account | None:
    async def find() -> Account | None:
        database = await Database.open(f"sqlite:///{folder / 'hub.sqlite'}")
        try:
            return await Accounts(database).find(login)
        finally:
            await database.close()

    return asyncio.run(find())


def is_password(folder: Path, login: str, password: str) -> bool:
    found = account(folder, login)
    assert found is not None

    async def check() -> bool:
        return await Passwords(PasswordCost()).is_right(found.password_hash, password)

    return asyncio.run(check())


def test_accounts_come_get_roles_and_passwords_and_go(tmp_path: Path) -> None:
    store = ("--data", tmp_path, "--json")
    added = rookery("fleet", "account", "add", "Ann", *store, stdin=f"{PASSWORD}\n".encode())
    assert (added.code, added.json()["login"], added.json()["role"]) == (0, "ann", "user")
    assert is_password(tmp_path, "ann", PASSWORD)
    role = rookery("fleet", "account", "role", "ann", "admin", *store).json()
    assert role["role"] == "admin"
    file = tmp_path / "password"
    file.write_text("another password\n")
    rookery("fleet", "account", "password", "ann", "--password-file", file, *store).json()
    assert is_password(tmp_path, "ann", "another password")
    (listed,) = rookery("fleet", "account", "list", *store).json_lines()
    assert (listed["login"], listed["role"]) == ("ann", "admin")
    assert rookery("fleet", "account", "remove", "ann", *store).code == 0
    assert account(tmp_path, "ann") is None
    assert [row.what for row in _audit(tmp_path)] == [
        "account.remove",
        "account.password",
        "account.role",
        "account.add",
    ]


def test_a_bad_login_or_password_is_wrong_usage(tmp_path: Path) -> None:
    store = ("--data", tmp_path)
    for login, password in (("<b>", PASSWORD), ("ann", "short"), ("ann", "")):
        outcome = rookery("fleet", "account", "add", login, *store, stdin=f"{password}\n".encode())
        assert outcome.code == 2
        assert "Traceback" not in outcome.err
    assert rookery("fleet", "account", "role", "nobody", "admin", *store).code == 2
    assert account(tmp_path, "ann") is None


def test_codes_are_printed_once_and_kept_as_hashes(tmp_path: Path) -> None:
    store = ("--data", tmp_path)
    code = rookery("fleet", "code", "--server", *store).out.strip()
    made = rookery("fleet", "code", "--json", *store).json()
    rows = asyncio.run(_codes(tmp_path, [code, str(made["code"])]))
    assert rows == [("server", None), ("router", None)]
    assert code not in str(_audit(tmp_path))
    assert rookery("fleet", "code", "--owner", "nobody", *store).code == 2
    assert rookery("fleet", "code", "--server", "--router", *store).code == 2


async def _codes(folder: Path, codes: list[str]) -> list[tuple[str, int | None]]:
    database = await Database.open(f"sqlite:///{folder / 'hub.sqlite'}")
    try:
        found = await Codes(database).find([code_id(code_key(code)) for code in codes])
        return [(code.kind, code.owner) for code in found if code is not None]
    finally:
        await database.close()


def _audit(folder: Path) -> list[AuditRow]:
    async def latest() -> list[AuditRow]:
        database = await Database.open(f"sqlite:///{folder / 'hub.sqlite'}")
        try:
            return await Audit(database).latest()
        finally:
            await database.close()

    return asyncio.run(latest())
