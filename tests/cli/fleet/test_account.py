"""`rookery fleet account` and `rookery fleet code`, on a hub's database (F13, F14)."""

import asyncio
import io
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from rookery.cli.main import main
from rookery.fleet.enrolment.secrets import code_id, code_key
from rookery.store.accounts.accounts import Account, Accounts
from rookery.store.accounts.audit import AuditRow, AuditTrail
from rookery.store.accounts.second_factors import SecondFactors, Totp
from rookery.store.accounts.sessions import BrowserSession, BrowserSessions
from rookery.store.database.database import Database
from rookery.store.fleet.codes import EnrolmentCodes
from rookery.web.accounts.passwords import Passwords
from rookery.web.settings import PasswordCost

PASSWORD = "correct horse"


class AccountVerbs(NamedTuple):
    """Where `rookery fleet` is called; `said` is what it printed since."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def call(self, *words: str, stdin: str = "") -> int:
        self.monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        return main(["fleet", *words, "--data", str(self.folder)])

    def said(self) -> str:
        captured = self.capsys.readouterr()
        assert "Traceback" not in captured.err
        return captured.out

    def json(self, *words: str, stdin: str = "") -> dict[str, object]:
        assert self.call(*words, "--json", stdin=stdin) == 0
        return msgspec.json.decode(self.said(), type=dict[str, object])


@pytest.fixture
def verbs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> AccountVerbs:
    return AccountVerbs(tmp_path, monkeypatch, capsys)


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


def test_accounts_come_get_roles_and_passwords_and_go(verbs: AccountVerbs) -> None:
    added = verbs.json("account", "add", "Ann", stdin=f"{PASSWORD}\n")
    assert (added["login"], added["role"]) == ("ann", "user")
    assert is_password(verbs.folder, "ann", PASSWORD)
    assert verbs.json("account", "role", "ann", "admin")["role"] == "admin"
    file = verbs.folder / "password"
    file.write_text("another password\n")
    verbs.json("account", "password", "ann", "--password-file", str(file))
    assert is_password(verbs.folder, "ann", "another password")
    verbs.monkeypatch.setenv("ROOKERY_PASSWORD", "a third password")
    verbs.json("account", "password", "ann")
    assert is_password(verbs.folder, "ann", "a third password")
    assert verbs.call("account", "list") == 0
    assert "admin" in verbs.said()
    assert verbs.call("account", "remove", "ann") == 0
    assert account(verbs.folder, "ann") is None
    rows = _audit(verbs.folder)
    whats = ["add", "role", "password", "password", "remove"]
    assert [row.what for row in rows][::-1] == [f"account.{what}" for what in whats]
    for password in (PASSWORD, "another password", "a third password"):
        assert password not in str(rows)


def test_a_bad_login_or_password_is_wrong_usage(verbs: AccountVerbs) -> None:
    for login, password in (("<b>", PASSWORD), ("ann", "short"), ("ann", "")):
        assert verbs.call("account", "add", login, stdin=f"{password}\n") == 2
    assert verbs.call("account", "role", "nobody", "admin") == 2
    assert verbs.call("account", "role", "ann", "god") == 2
    assert verbs.said() == ""
    assert account(verbs.folder, "ann") is None


def test_codes_are_printed_once_and_kept_as_hashes(verbs: AccountVerbs) -> None:
    assert verbs.call("code", "--server") == 0
    code = verbs.said().strip()
    made = verbs.json("code")
    rows = asyncio.run(_codes(verbs.folder, [code, str(made["code"])]))
    assert rows == [("server", None), ("router", None)]
    assert code not in str(_audit(verbs.folder))
    assert verbs.call("code", "--owner", "nobody") == 2
    assert verbs.call("code", "--server", "--router") == 2


def test_factors_of_a_lost_device_are_removed_and_its_sessions_end(verbs: AccountVerbs) -> None:
    verbs.json("account", "add", "ann", stdin=f"{PASSWORD}\n")
    assert asyncio.run(_with_factors(verbs.folder)) == (True, 1)
    assert verbs.json("account", "reset-factors", "ann")["login"] == "ann"
    assert asyncio.run(_left(verbs.folder)) == (False, 0)
    assert is_password(verbs.folder, "ann", PASSWORD)
    (row, *_) = _audit(verbs.folder)
    assert (row.what, row.who, row.target) == ("account.reset_factors", "rookery fleet", "ann")
    assert row.detail == {"outcome": "ok", "totp": True, "passkeys": 0}
    assert verbs.call("account", "reset-factors", "nobody") == 2


async def _with_factors(folder: Path) -> tuple[bool, int]:
    database = await Database.open(f"sqlite:///{folder / 'hub.sqlite'}")
    found = await Accounts(database).find("ann")
    assert found is not None
    app = Totp(account=found.id, sealed=b"sealed", created_at=1.0)
    await SecondFactors(database).propose(app)
    await SecondFactors(database).confirm(app, 7, 1.0)
    await BrowserSessions(database).add(BrowserSession(bytes(32), found.id, 1.0, 1.0, 1e12))
    await database.close()
    return await _left(folder)


async def _left(folder: Path) -> tuple[bool, int]:
    database = await Database.open(f"sqlite:///{folder / 'hub.sqlite'}")
    try:
        found = await Accounts(database).find("ann")
        assert found is not None
        counted = await SecondFactors(database).count(found.id)
        return counted.is_any, len(await BrowserSessions(database).of(found.id, 2.0))
    finally:
        await database.close()


async def _codes(folder: Path, codes: list[str]) -> list[tuple[str, int | None]]:
    database = await Database.open(f"sqlite:///{folder / 'hub.sqlite'}")
    try:
        found = await EnrolmentCodes(database).find([code_id(code_key(code)) for code in codes])
        return [(code.kind, code.owner) for code in found if code is not None]
    finally:
        await database.close()


def _audit(folder: Path) -> list[AuditRow]:
    async def latest() -> list[AuditRow]:
        database = await Database.open(f"sqlite:///{folder / 'hub.sqlite'}")
        try:
            return await AuditTrail(database).latest()
        finally:
            await database.close()

    return asyncio.run(latest())
