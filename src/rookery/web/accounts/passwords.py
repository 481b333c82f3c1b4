"""Passwords: the rules for new ones, and argon2 off the loop, a few at a time.

One hash takes 64 MiB and tens of milliseconds, so sign-ins queue up in a short line instead of
taking the hub's memory; when the line is full, a request is answered with 503.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from rookery.errors import CongestionError, UsageError
from rookery.web.settings import PasswordCost

T = TypeVar("T")

LENGTH_MIN = 10
BYTES_MAX = 1024


def check_new(password: str) -> None:
    """UsageError unless it is allowed as a new password."""
    if len(password) < LENGTH_MIN:
        raise UsageError(f"a password has at least {LENGTH_MIN} characters")
    if _size(password) > BYTES_MAX:
        raise UsageError(f"a password has at most {BYTES_MAX} bytes")
    if len(set(password)) == 1:
        raise UsageError("a password is more than one character repeated")


def _size(password: str) -> int:
    # A lone surrogate arrives by JSON as \ud800; counted as the three bytes it would take.
    return len(password.encode(errors="surrogatepass"))


class Passwords:
    """Hashes and checks passwords."""

    def __init__(self, cost: PasswordCost) -> None:
        self._hasher = PasswordHasher(cost.time, cost.memory_kib, cost.lanes)
        self._turns = asyncio.Semaphore(cost.at_once_max)
        self._waiting_max = cost.waiting_max
        self._waiting = 0
        # Checked for unknown logins, so that timing does not reveal which accounts exist.
        self._decoy_hash = self._hasher.hash(b"nobody has this password")

    async def hash(self, password: str) -> str:
        """What to keep of it."""
        data = password.encode(errors="surrogatepass")
        return await self._in_turn(lambda: self._hasher.hash(data))

    async def is_right(self, hashed: str | None, password: str) -> bool:
        """Whether it is the one kept; None (no such account) takes as long as a wrong one."""
        if _size(password) > BYTES_MAX:
            return False  # and no work either, which is the same for every login
        data = password.encode(errors="surrogatepass")
        is_same = await self._in_turn(lambda: self._verify(hashed or self._decoy_hash, data))
        return is_same and hashed is not None

    def _verify(self, hashed: str, password: bytes) -> bool:
        try:
            return self._hasher.verify(hashed, password)
        except (VerificationError, InvalidHashError):
            return False

    async def _in_turn(self, work: Callable[[], T]) -> T:
        if self._waiting >= self._waiting_max:
            raise CongestionError("too many are signing in at this moment; try again in a second")
        self._waiting += 1
        try:
            async with self._turns:
                return await asyncio.to_thread(work)
        finally:
            self._waiting -= 1
