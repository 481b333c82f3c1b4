"""Inbox: what has arrived and nobody has read yet, in order and bounded.

A tower acknowledges what it takes. So a message for a full inbox is not taken at all: its sender
repeats it while the reader catches up, or learns that it was not delivered.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Final, Generic, TypeVar

MESSAGES_MAX: Final = 1024
SIZE_MAX: Final = 4 << 20

Item = TypeVar("Item")


class CrowInbox(Generic[Item]):
    """One reader's queue, which is in `full` by its key as long as nothing more should come."""

    def __init__(self, full: set[int], key: int) -> None:
        self._full = full
        self._key = key
        self._items: deque[tuple[Item, int]] = deque()  # each with its size
        self._size = 0
        self._is_closed = False
        self._waiters: list[asyncio.Future[None]] = []

    def put(self, item: Item, size: int) -> None:
        self._items.append((item, size))
        self._size += size
        if len(self._items) >= MESSAGES_MAX or self._size >= SIZE_MAX:
            self._full.add(self._key)
        if self._waiters:
            self._wake()

    def put_all(self, items: list[Item], sizes: list[int]) -> None:
        """As `put` does each."""
        self._items.extend(zip(items, sizes, strict=True))
        self._size += sum(sizes)
        if len(self._items) >= MESSAGES_MAX or self._size >= SIZE_MAX:
            self._full.add(self._key)
        if self._waiters:
            self._wake()

    def drop_oldest(self) -> None:
        """Make room, for a reader who would rather miss something than hold others up."""
        self._size -= self._items.popleft()[1]

    async def take(self) -> Item | None:
        """The next item, None once the inbox is closed and empty."""
        return self._pop() if self._items or await self._is_filled() else None

    def __aiter__(self) -> AsyncIterator[Item]:
        """Every item until the inbox is closed and empty."""
        return self

    async def __anext__(self) -> Item:
        if self._items or await self._is_filled():
            return self._pop()
        raise StopAsyncIteration

    def close(self) -> None:
        self._is_closed = True
        self._full.discard(self._key)
        self._wake()

    async def _is_filled(self) -> bool:
        """Wait for an item; False once none will come."""
        while not self._items:
            if self._is_closed:
                return False
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter
        return True

    def _pop(self) -> Item:
        item, size = self._items.popleft()
        self._size -= size
        if self._full and len(self._items) < MESSAGES_MAX and self._size < SIZE_MAX:
            self._full.discard(self._key)
        return item

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
