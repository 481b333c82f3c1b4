"""Guessing, bounded: who was wrong too often waits until the window is over.

Counted per account and address together (a person who mistypes), per address (one guesser, many
accounts) and per account (many guessers, one account). Keys are hashed into a fixed number of
places, so that no number of addresses or invented logins grows the table.
"""

import ipaddress
import os
import time
from hashlib import blake2s

from limits import RateLimitItem, RateLimitItemPerSecond
from limits.aio.storage import MemoryStorage, RedisStorage
from limits.aio.strategies import FixedWindowRateLimiter
from limits.errors import StorageError
from redis.asyncio import Redis

from rookery.hub.errors import StoreAwayError
from rookery.store.redis_client import redis_client
from rookery.web.problems import TooManyError
from rookery.web.settings import GuessLimits


class Guessing:
    """Counts what was wrong, and says when it was too much."""

    def __init__(self, limits: GuessLimits, hot_url: str, places: int = 1 << 16) -> None:
        """Beside the hot store: in memory, or in the Redis that all hubs share."""
        self._limits = limits
        self._places = places
        self._redis = None if hot_url == "ram:" else redis_client(hot_url, os.environ)
        storage = MemoryStorage() if self._redis is None else _shared(self._redis)
        self._limiter = FixedWindowRateLimiter(storage)

    async def close(self) -> None:
        """Let go of Redis."""
        if self._redis is not None:
            await self._redis.aclose()

    async def check(self, login: str, address: str) -> None:
        """TooManyError when the login or the address was wrong too often of late."""
        for item, place in self._counted(login, address):
            await self._refuse_if_spent(item, place)

    async def was_wrong(self, login: str, address: str) -> None:
        """Count one wrong guess."""
        for item, place in self._counted(login, address):
            await self._count(item, place)

    async def register(self, address: str) -> None:
        """Count one registration, or TooManyError."""
        item = self._item(self._limits.registrations_per_address, "registration")
        await self._refuse_if_spent(item, self._place(_network(address)))
        await self._count(item, self._place(_network(address)))

    def _counted(self, login: str, address: str) -> list[tuple[RateLimitItem, str]]:
        limits, network = self._limits, _network(address)
        return [
            (self._item(limits.per_account_and_address, "pair"), self._place(f"{network} {login}")),
            (self._item(limits.per_address, "address"), self._place(network)),
            (self._item(limits.per_account, "account"), self._place(login)),
        ]

    def _place(self, text: str) -> str:
        digest = blake2s(text.encode(errors="replace"), digest_size=8).digest()
        return f"{int.from_bytes(digest, 'big') % self._places:x}"

    def _item(self, amount: int, kind: str) -> RateLimitItem:
        return RateLimitItemPerSecond(amount, self._limits.window_s, namespace=kind)

    async def _refuse_if_spent(self, item: RateLimitItem, place: str) -> None:
        try:
            if await self._limiter.test(item, place):
                return
            window = await self._limiter.get_window_stats(item, place)
        except StorageError as error:
            raise StoreAwayError("the store that counts wrong guesses does not answer") from error
        raise TooManyError(max(1, int(window.reset_time - time.time()) + 1))

    async def _count(self, item: RateLimitItem, place: str) -> None:
        try:
            await self._limiter.hit(item, place)
        except StorageError as error:
            raise StoreAwayError("the store that counts wrong guesses does not answer") from error


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
