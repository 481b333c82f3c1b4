"""Hot store in Redis: for several hubs that behave as one."""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Self

from redis.asyncio import Redis
from redis.exceptions import RedisError

from rookery.fleet.entry import FleetEntry
from rookery.fleet.rendezvous.wish import Wish, WishStep
from rookery.store.hot import redis_scripts
from rookery.store.hot.hot_store import EntryLookup, EntryScan
from rookery.store.hot.redis_client import Script, reachable, redis_client
from rookery.store.hot.redis_entries import RedisEntries
from rookery.store.hot.redis_wishes import RedisWishes

_TAKEN = b"rookery:t:"
_RESERVED = b"rookery:r:"


class RedisHotStore:
    """`await RedisHotStore.open(url)`; lost entries are restored from the database."""

    def __init__(
        self, client: Redis, fallback: EntryLookup | None, everything: EntryScan | None
    ) -> None:
        self._client = client
        self._entries = RedisEntries(client, fallback, everything)
        self._wishes = RedisWishes(client)
        self._name = os.urandom(8)  # identifies this store as the holder of what it took
        self._take: Script = client.register_script(redis_scripts.TAKE)
        self._release: Script = client.register_script(redis_scripts.RELEASE)
        self._reserve: Script = client.register_script(redis_scripts.RESERVE)
        self._count_reserved: Script = client.register_script(redis_scripts.RESERVED)

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        fallback: EntryLookup | None = None,
        everything: EntryScan | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> Self:
        """Check the connection once: UsageError, UnreachableError."""
        client = redis_client(url, environment)
        try:
            with reachable():
                await client.ping()
        except BaseException:
            await client.aclose()
            raise
        return cls(client, fallback, everything)

    async def close(self) -> None:
        await self._wishes.close()
        await self._client.aclose()

    async def ready(self) -> bool:
        try:
            return bool(await self._client.ping())
        except (RedisError, OSError):
            return False

    # Entries

    async def entries(self, senders: Sequence[bytes]) -> list[FleetEntry | None]:
        return await self._entries.entries(senders)

    async def put(self, entries: Sequence[FleetEntry]) -> list[bool]:
        return await self._entries.put(entries)

    async def remove(self, entry: FleetEntry) -> bool:
        return await self._entries.remove(entry)

    async def room(self) -> int:
        return await self._entries.room()

    async def restore(self, entries: Sequence[FleetEntry]) -> int:
        return await self._entries.restore(entries)

    async def all(self, kind: str) -> list[FleetEntry]:
        return [entry async for chunk in self._entries.scan(kind) for entry in chunk]

    def scan(self, kind: str) -> AsyncIterator[list[FleetEntry]]:
        return self._entries.scan(kind)

    # Wishes

    async def wishes(self, devices: Sequence[bytes]) -> list[int | None]:
        return await self._wishes.oldest(devices)

    async def add_wish(self, wish: Wish, seconds: float) -> Wish:
        return await self._wishes.add(wish, seconds)

    async def wish(self, wish: int) -> Wish | None:
        return await self._wishes.find(wish)

    async def end_wish(self, wish: int) -> None:
        await self._wishes.end(wish)

    async def add_step(self, step: WishStep) -> None:
        await self._wishes.add_step(step)

    def steps(self, wish: int) -> AsyncIterator[WishStep]:
        return self._wishes.steps(wish)

    # Leases and reservations

    async def take(self, key: str, seconds: float) -> bool:
        holder = self._name + os.urandom(8)  # a repeated request finds itself
        with reachable():
            return await self._take([_TAKEN + key.encode()], [holder, _ms(seconds)]) == 1

    async def release(self, key: str) -> None:
        with reachable():
            await self._release([_TAKEN + key.encode()], [self._name])

    async def reserved(self, server: str) -> int:
        with reachable():
            count = await self._count_reserved([_RESERVED + server.encode()])
        assert isinstance(count, int)
        return count

    async def reserve(self, server: str, seat: str, seconds: float) -> None:
        with reachable():
            await self._reserve([_RESERVED + server.encode()], [seat, _ms(seconds)])

    async def unreserve(self, server: str, seat: str) -> None:
        with reachable():
            await self._client.zrem(_RESERVED + server.encode(), seat)


def _ms(seconds: float) -> int:
    return max(int(seconds * 1000), 1)
