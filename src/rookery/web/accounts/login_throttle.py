"""Limits failed sign-ins: too many of them block further tries until the window is over.

Failures are counted per account and address together (a person who mistypes), per address (one
guesser, many accounts) and per account (many guessers, one account). Keys are hashed into a fixed
number of slots, so that addresses and invented logins do not grow the table; the hash is keyed, so
that an attacker cannot find logins that collide with another's account and lock that out.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2s

from limits import RateLimitItem, RateLimitItemPerSecond
from limits.aio.storage import MemoryStorage, RedisStorage
from limits.aio.strategies import FixedWindowRateLimiter
from limits.errors import StorageError
from redis.asyncio import Redis

from rookery.errors import UnreachableError
from rookery.hub.errors import StoreUnavailableError
from rookery.link.source_network import source_network
from rookery.store.hot.redis_client import reachable, redis_client
from rookery.web.http.problems import TooManyRequestsError
from rookery.web.settings import LoginThrottleLimits

_KEY = "rookery:limits:key"  # in Redis: the secret that hubs share
_KEY_SIZE = 32
_AWAY = "the store that counts wrong guesses does not answer"


class LoginThrottle:
    """Fixed-window counters of failed sign-ins, codes and registrations."""

    def __init__(self, limits: LoginThrottleLimits, hot_url: str, places: int = 1 << 16) -> None:
        """Counts in memory, or in the Redis of the hot store, which all hubs share."""
        self._limits = limits
        self._places = places
        self._redis = None if hot_url == "ram:" else redis_client(hot_url, os.environ)
        storage = MemoryStorage() if self._redis is None else _shared(self._redis)
        self._limiter = FixedWindowRateLimiter(storage)
        self._key = os.urandom(_KEY_SIZE) if self._redis is None else b""

    async def close(self) -> None:
        """Let go of Redis."""
        if self._redis is not None:
            await self._redis.aclose()

    async def check(self, login: str, address: str) -> None:
        """TooManyRequestsError after too many failures of the login or the address."""
        for item, place in await self._counted(login, address):
            await self._refuse_if_spent(item, place)

    async def was_wrong(self, login: str, address: str) -> bool:
        """Count one failure; True if it uses up what the account may fail in this window."""
        for item, place in await self._counted(login, address):
            await self._count(item, place)
        with _storage_errors():
            return not await self._limiter.test(item, place)  # that of the account

    async def check_address(self, address: str) -> None:
        """TooManyRequestsError after too many failures from the address, for any login."""
        await self._refuse_if_spent(*await self._of_address(address))

    async def was_wrong_at(self, address: str) -> None:
        """Count one failure that names no login."""
        await self._count(*await self._of_address(address))

    async def take_code_try(self, login: str) -> bool:
        """Count one code; False: no more codes are accepted in this window.

        Counted before the code is checked, so that parallel requests get no extra tries.
        """
        with _storage_errors():
            return await self._limiter.hit(*await self._of_codes(login))

    async def is_last_code(self, login: str) -> bool:
        """Whether the code just counted was the last one allowed in this window."""
        with _storage_errors():
            return not await self._limiter.test(*await self._of_codes(login))

    async def was_right_code(self, login: str) -> None:
        """Forget the wrong codes before a right one."""
        with _storage_errors():
            await self._limiter.clear(*await self._of_codes(login))

    async def register(self, address: str) -> None:
        """Count one registration, or TooManyRequestsError."""
        item = self._item(self._limits.registrations_per_address, "registration")
        place = await self._place(source_network(address))
        await self._refuse_if_spent(item, place)
        await self._count(item, place)

    async def _counted(self, login: str, address: str) -> list[tuple[RateLimitItem, str]]:
        limits, network = self._limits, source_network(address)
        return [
            (
                self._item(limits.per_account_and_address, "pair"),
                await self._place(f"{network} {login}"),
            ),
            await self._of_address(address),
            (self._item(limits.per_account, "account"), await self._place(login)),
        ]

    async def _of_address(self, address: str) -> tuple[RateLimitItem, str]:
        place = await self._place(source_network(address))
        return self._item(self._limits.per_address, "address"), place

    async def _of_codes(self, login: str) -> tuple[RateLimitItem, str]:
        limits = self._limits
        item = RateLimitItemPerSecond(
            limits.codes_per_account, limits.codes_window_s, namespace="code"
        )
        return item, await self._place(login)

    async def _place(self, text: str) -> str:
        if self._redis is not None and not self._key:
            self._key = await _shared_key(self._redis)
        data = text.encode(errors="replace")
        digest = blake2s(data, digest_size=8, key=self._key).digest()
        return f"{int.from_bytes(digest, 'big') % self._places:x}"

    def _item(self, amount: int, kind: str) -> RateLimitItem:
        return RateLimitItemPerSecond(amount, self._limits.window_s, namespace=kind)

    async def _refuse_if_spent(self, item: RateLimitItem, place: str) -> None:
        with _storage_errors():
            if await self._limiter.test(item, place):
                return
            window = await self._limiter.get_window_stats(item, place)
        raise TooManyRequestsError(max(1, int(window.reset_time - time.time()) + 1))

    async def _count(self, item: RateLimitItem, place: str) -> None:
        with _storage_errors():
            await self._limiter.hit(item, place)


@contextmanager
def _storage_errors() -> Iterator[None]:
    try:
        yield
    except StorageError as error:
        raise StoreUnavailableError(_AWAY) from error


async def _shared_key(client: Redis) -> bytes:
    """The hash key in Redis, which the first hub puts there."""
    try:
        with reachable():
            await client.set(_KEY, os.urandom(_KEY_SIZE), nx=True)
            found = await client.get(_KEY)
    except UnreachableError as error:
        raise StoreUnavailableError(_AWAY) from error
    return found if isinstance(found, bytes) else b""


def _shared(client: Redis) -> RedisStorage:
    return RedisStorage(
        "redis://",  # the pool knows where
        wrap_exceptions=True,
        implementation="redispy",
        key_prefix="rookery:limits",
        connection_pool=client.connection_pool,  # type: ignore[arg-type]
    )
