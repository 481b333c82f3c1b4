"""Guessing, bounded: who was wrong too often waits until the window is over.

Counted per account and address together (a person who mistypes), per address (one guesser, many
accounts) and per account (many guessers, one account). Keys are hashed into a fixed number of
places, so that no number of addresses or invented logins grows the table; with a secret, so that
nobody can find logins that share the place of another's account and lock that out.
"""

import ipaddress
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
from rookery.store.hot.redis_client import reachable, redis_client
from rookery.web.http.problems import TooManyRequestsError
from rookery.web.settings import LoginThrottleLimits

_KEY = "rookery:limits:key"  # in Redis: the secret that hubs share
_KEY_SIZE = 32
_AWAY = "the store that counts wrong guesses does not answer"


class LoginThrottle:
    """Counts what was wrong, and says when it was too much."""

    def __init__(self, limits: LoginThrottleLimits, hot_url: str, places: int = 1 << 16) -> None:
        """Beside the hot store: in memory, or in the Redis that all hubs share."""
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
        """TooManyRequestsError when the login or the address was wrong too often of late."""
        for item, place in await self._counted(login, address):
            await self._refuse_if_spent(item, place)

    async def was_wrong(self, login: str, address: str) -> bool:
        """Count one wrong guess; whether it was the last that this account has for now."""
        for item, place in await self._counted(login, address):
            await self._count(item, place)
        with _storage_errors():
            return not await self._limiter.test(item, place)  # that of the account

    async def check_address(self, address: str) -> None:
        """TooManyRequestsError when the address was wrong too often of late, at whatever login."""
        await self._refuse_if_spent(*await self._of_address(address))

    async def was_wrong_at(self, address: str) -> None:
        """Count one wrong guess that names no login."""
        await self._count(*await self._of_address(address))

    async def take_code_try(self, login: str) -> bool:
        """Count one code beside the right password; False: no code is taken for now.

        Counted before it is judged, so that many at once get no more than one after another.
        """
        with _storage_errors():
            return await self._limiter.hit(*await self._of_codes(login))

    async def is_last_code(self, login: str) -> bool:
        """Whether the one just counted was the last for now."""
        with _storage_errors():
            return not await self._limiter.test(*await self._of_codes(login))

    async def was_right_code(self, login: str) -> None:
        """The wrong ones before it no longer count."""
        with _storage_errors():
            await self._limiter.clear(*await self._of_codes(login))

    async def register(self, address: str) -> None:
        """Count one registration, or TooManyRequestsError."""
        item = self._item(self._limits.registrations_per_address, "registration")
        place = await self._place(_network(address))
        await self._refuse_if_spent(item, place)
        await self._count(item, place)

    async def _counted(self, login: str, address: str) -> list[tuple[RateLimitItem, str]]:
        limits, network = self._limits, _network(address)
        return [
            (
                self._item(limits.per_account_and_address, "pair"),
                await self._place(f"{network} {login}"),
            ),
            await self._of_address(address),
            (self._item(limits.per_account, "account"), await self._place(login)),
        ]

    async def _of_address(self, address: str) -> tuple[RateLimitItem, str]:
        place = await self._place(_network(address))
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
    """The one that the first hub left there."""
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


def _network(address: str) -> str:
    """The address, or the /64 that one household has of IPv6."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is None:
        return str(ipaddress.ip_network((int(ip), 64), strict=False))
    return str(ip)
