"""Passwords: constant work for strangers, few hashes at once, a short line."""

import asyncio
import threading

import pytest
from argon2 import PasswordHasher

from rookery.errors import CongestionError, UsageError
from rookery.web.accounts.passwords import Passwords, check_new
from rookery.web.settings import PasswordCost
from tests.patience import PATIENCE_S

CHEAP = PasswordCost(time=1, memory_kib=8)


class Kitchen:
    """Counts how many hashes are made at once and in all."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = self.most = self.all = 0
        self._lock = threading.Lock()
        self.gate = threading.Event()
        self.gate.set()
        real = PasswordHasher.verify

        def verify(hasher: PasswordHasher, hashed: str, password: bytes) -> bool:
            with self._lock:
                self.now += 1
                self.all += 1
                self.most = max(self.most, self.now)
            try:
                self.gate.wait(PATIENCE_S)
                return bool(real(hasher, hashed, password))
            finally:
                with self._lock:
                    self.now -= 1

        monkeypatch.setattr(PasswordHasher, "verify", verify)


async def test_the_right_password_and_no_other_is_right() -> None:
    passwords = Passwords(CHEAP)
    hashed = await passwords.hash("correct horse")
    assert await passwords.is_right(hashed, "correct horse")
    assert not await passwords.is_right(hashed, "correct horsf")
    assert not await passwords.is_right("no hash at all", "correct horse")
    assert not await passwords.is_right(hashed, "correct horse" * 200)


async def test_an_unknown_login_costs_as_much_time(monkeypatch: pytest.MonkeyPatch) -> None:
    kitchen = Kitchen(monkeypatch)
    passwords = Passwords(CHEAP)
    hashed = await passwords.hash("correct horse")
    await passwords.is_right(hashed, "wrong")
    known = kitchen.all
    assert not await passwords.is_right(None, "nobody has this password")
    assert kitchen.all - known == known == 1


async def test_a_crowd_waits_its_turn_and_the_line_is_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kitchen = Kitchen(monkeypatch)
    passwords = Passwords(PasswordCost(time=1, memory_kib=8, at_once_max=2, waiting_max=6))
    hashed = await passwords.hash("correct horse")
    kitchen.gate.clear()
    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(passwords.is_right(hashed, "correct horse")) for _ in range(6)]
        await asyncio.sleep(0)
        with pytest.raises(CongestionError):
            await passwords.is_right(hashed, "correct horse")
        kitchen.gate.set()
    assert all(one.result() for one in waiting)
    assert kitchen.most <= 2
    assert await passwords.is_right(hashed, "correct horse")


@pytest.mark.parametrize("password", ["short", "x" * 2000, "я" * 600, "aaaaaaaaaaaaaaa", ""])
def test_bad_new_passwords_are_refused(password: str) -> None:
    with pytest.raises(UsageError):
        check_new(password)


@pytest.mark.parametrize("password", ["0123456789", "пароль-пароль", " leading and trailing "])
def test_good_ones_are_taken_as_they_are(password: str) -> None:
    check_new(password)
