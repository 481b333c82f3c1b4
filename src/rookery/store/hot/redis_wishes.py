"""Wishes and their steps in Redis: any hub may tell the story, and any may watch it.

The list of steps is the truth; a message only says that it has grown. So a watcher that comes late,
or whose messages are lost with a connection, reads the list again and misses nothing. Every item
has a name of its own, by which a watcher knows what it has seen.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

import msgspec
from redis.asyncio import Redis
from redis.exceptions import RedisError

from rookery.errors import CongestionError, UnreachableError
from rookery.fleet.rendezvous.wish import Wish, WishStep
from rookery.store.hot import redis_scripts
from rookery.store.hot.hot_store import (
    STEPS_KEPT_S,
    STEPS_PER_WISH_MAX,
    WISHES_PER_DEVICE_MAX,
    TooManyWishesError,
)
from rookery.store.hot.redis_client import Script, reachable
from rookery.wire.fleet.mac import MAC_SIZE

AWAY_S_MAX = 30.0  # so long a watcher waits for a Redis that is away
LOOK_AGAIN_S = 2.0  # also without a message
_RETRY_S = 0.25

_BY_DEVICE = b"rookery:m:"
_WISH = b"rookery:w:"
_STEPS = b"rookery:s:"
_NAME_SIZE = 8
_encoder = msgspec.msgpack.Encoder()
_wish_decoder = msgspec.msgpack.Decoder(Wish)
_step_decoder = msgspec.msgpack.Decoder(WishStep)


class RedisWishes:
    """One connection listens for all watchers of this process, from the first one on."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self._add: Script = client.register_script(redis_scripts.ADD_WISH)
        self._oldest: Script = client.register_script(redis_scripts.OLDEST_WISHES)
        self._end: Script = client.register_script(redis_scripts.END_WISH)
        self._say: Script = client.register_script(redis_scripts.ADD_STEP)
        self._watchers: dict[bytes, set[asyncio.Event]] = {}  # by key of the steps
        self._listener: asyncio.Task[None] | None = None

    async def close(self) -> None:
        # More than once: redis-py overhears it while it connects.
        while self._listener is not None and not self._listener.done():
            self._listener.cancel()
            await asyncio.wait([self._listener], timeout=_RETRY_S)

    async def oldest(self, devices: Sequence[bytes]) -> list[int | None]:
        if not devices:
            return []
        with reachable():
            found = await self._oldest([], [_BY_DEVICE, _WISH, b"".join(devices)])
        assert isinstance(found, list)
        wishes: list[int | None] = [None] * len(devices)
        for index, id_ in zip(found[::2], found[1::2], strict=True):
            wishes[index] = int.from_bytes(id_, "big")
        return wishes

    async def add(self, wish: Wish, seconds: float) -> Wish:
        id_ = _id(wish.id)
        client = _client(wish)
        value, most = wish.mac + client + _encoder.encode(wish), WISHES_PER_DEVICE_MAX
        with reachable():
            held = await self._add(
                [_BY_DEVICE + wish.mac, _WISH + id_],
                [id_, value, client, _ms(seconds), most, _WISH],
            )
        if held is None:
            raise TooManyWishesError(f"{most} clients already wait for this device")
        assert isinstance(held, bytes)
        return _wish(held)

    async def find(self, wish: int) -> Wish | None:
        with reachable():
            value = await self._client.get(_WISH + _id(wish))
        return _wish(value) if isinstance(value, bytes) else None

    async def end(self, wish: int) -> None:
        with reachable():
            await self._end([_WISH + _id(wish)], [_id(wish), _BY_DEVICE])

    async def add_step(self, step: WishStep) -> None:
        id_, item = _id(step.wish), os.urandom(_NAME_SIZE) + _encoder.encode(step)
        with reachable():
            is_said = await self._say(
                [_STEPS + id_, _WISH + id_], [item, _ms(STEPS_KEPT_S), STEPS_PER_WISH_MAX]
            )
        if not is_said:
            raise CongestionError(f"wish {step.wish} already has {STEPS_PER_WISH_MAX} steps")

    async def steps(self, wish: int) -> AsyncIterator[WishStep]:
        key, grown = _STEPS + _id(wish), asyncio.Event()
        self._watchers.setdefault(key, set()).add(grown)
        if self._listener is None:
            self._listener = asyncio.get_running_loop().create_task(self._listen())
        seen: set[bytes] = set()
        known_at = time.monotonic()
        try:
            while True:
                grown.clear()
                items, is_known = await self._patiently_read(wish)
                for item in items:
                    if item[:_NAME_SIZE] in seen:
                        continue
                    seen.add(item[:_NAME_SIZE])
                    step = _step_decoder.decode(item[_NAME_SIZE:])
                    yield step
                    if step.is_last:
                        return
                now = time.monotonic()
                known_at = now if is_known else known_at
                if not is_known and (not seen or now > known_at + STEPS_KEPT_S):
                    return
                await _wait(grown, LOOK_AGAIN_S)
        finally:
            self._watchers[key].discard(grown)
            if not self._watchers[key]:
                del self._watchers[key]

    async def _patiently_read(self, wish: int) -> tuple[list[bytes], bool]:
        """All items, and whether the wish or its steps are there; waits while Redis is away."""
        patient_until = time.monotonic() + AWAY_S_MAX
        while True:
            try:
                return await self._read(wish)
            except UnreachableError:
                if time.monotonic() > patient_until:
                    raise
            await asyncio.sleep(_RETRY_S)

    async def _read(self, wish: int) -> tuple[list[bytes], bool]:
        id_ = _id(wish)
        with reachable():
            async with self._client.pipeline() as pipeline:
                pipeline.lrange(_STEPS + id_, 0, -1)
                pipeline.exists(_WISH + id_)
                items, is_open = await pipeline.execute()
        return items, bool(items or is_open)

    async def _listen(self) -> None:
        """A new subscription wakes all readers, since messages before it were missed."""
        while True:
            with suppress(RedisError, OSError):
                async with self._client.pubsub() as messages:
                    await messages.psubscribe(_STEPS + b"*")
                    while True:
                        message = await messages.get_message(timeout=None)
                        if message and message["type"] == "pmessage":
                            self._wake(message["channel"])
                        else:
                            self._wake_all()
            self._wake_all()
            await asyncio.sleep(_RETRY_S)

    def _wake(self, key: bytes) -> None:
        for watcher in self._watchers.get(key, ()):
            watcher.set()

    def _wake_all(self) -> None:
        for key in self._watchers:
            self._wake(key)


def _id(wish: int) -> bytes:
    return wish.to_bytes(8, "big")


def _client(wish: Wish) -> bytes:
    """The waiting client: account and authority, as a seat ends with its authority."""
    name = wish.client.encode() + wish.authority
    return len(name).to_bytes(2, "big") + name


def _wish(value: bytes) -> Wish:
    """Behind what scripts compare."""
    size = int.from_bytes(value[MAC_SIZE : MAC_SIZE + 2], "big")
    return _wish_decoder.decode(value[MAC_SIZE + 2 + size :])


def _ms(seconds: float) -> int:
    return max(int(seconds * 1000), 1)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
