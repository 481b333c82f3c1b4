"""Wishes and their steps in memory, for the one hub of its fleet."""

import asyncio
import heapq
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from rookery.errors import CongestionError
from rookery.fleet.rendezvous.wish import Wish, WishStep
from rookery.store.hot.hot_store import (
    STEPS_KEPT_S,
    STEPS_PER_WISH_MAX,
    WISHES_PER_DEVICE_MAX,
    TooManyWishesError,
)


@dataclass(slots=True)
class _WishHistory:
    """The steps of a wish, and an event that the next one sets."""

    kept_until: float
    steps: list[WishStep] = field(default_factory=list)
    more: asyncio.Event = field(default_factory=asyncio.Event)


class RamWishes:
    """Open wishes by device, and their steps, which outlive them."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._open: dict[int, tuple[Wish, float]] = {}  # and until when
        self._by_device: dict[bytes, list[int]] = {}  # the oldest first
        self._expiries: list[tuple[float, int]] = []  # a heap
        self._stories: dict[int, _WishHistory] = {}  # the one to be forgotten first is first

    def __bool__(self) -> bool:
        """Whether any is open, which is rare."""
        return bool(self._by_device)

    def oldest(self, device: bytes) -> int | None:
        """The wish to call this device for."""
        self._expire()
        waiting = self._by_device.get(device)
        return waiting[0] if waiting else None

    def add(self, wish: Wish, seconds: float) -> Wish:
        self._expire()
        waiting = self._by_device.setdefault(wish.mac, [])
        for other in waiting:
            known, _ = self._open[other]
            if (known.client, known.authority) == (wish.client, wish.authority):
                return known
        if len(waiting) >= WISHES_PER_DEVICE_MAX:
            raise TooManyWishesError(f"{len(waiting)} clients already wait for this device")
        until = self._clock() + seconds
        waiting.append(wish.id)
        self._open[wish.id] = wish, until
        heapq.heappush(self._expiries, (until, wish.id))
        return wish

    def find(self, wish: int) -> Wish | None:
        self._expire()
        known = self._open.get(wish)
        return known[0] if known else None

    def end(self, wish: int) -> None:
        known = self._open.pop(wish, None)
        if known is None:
            return
        device = known[0].mac
        self._by_device[device].remove(wish)
        if not self._by_device[device]:
            del self._by_device[device]

    def add_step(self, step: WishStep) -> None:
        self._expire()
        story = self._stories.pop(step.wish, None) or _WishHistory(0.0)
        story.kept_until = self._clock() + STEPS_KEPT_S
        self._stories[step.wish] = story  # at the end, as all are kept equally long
        if len(story.steps) >= STEPS_PER_WISH_MAX:
            raise CongestionError(f"wish {step.wish} already has {STEPS_PER_WISH_MAX} steps")
        story.steps.append(step)
        story.more.set()
        story.more = asyncio.Event()

    async def steps(self, wish: int) -> AsyncIterator[WishStep]:
        seen = 0
        while True:
            self._expire()
            story = self._stories.get(wish)
            known = self._open.get(wish)
            if story is None and known is None:
                return
            if story is None:
                story = self._stories[wish] = _WishHistory(self._clock() + STEPS_KEPT_S)
            for step in story.steps[seen:]:
                seen += 1
                yield step
                if step.is_last:
                    return
            if seen == len(story.steps):
                until = max(story.kept_until, known[1] if known else 0.0)
                await _wait(story.more, until - self._clock())

    def _expire(self) -> None:
        now = self._clock()
        while self._expiries and self._expiries[0][0] <= now:
            until, wish = heapq.heappop(self._expiries)
            if wish in self._open and self._open[wish][1] == until:
                self.end(wish)
        while self._stories:
            wish, story = next(iter(self._stories.items()))
            if story.kept_until > now:
                break
            del self._stories[wish]
            if wish in self._open:  # a reader may still wait for its first step
                story.kept_until = now + STEPS_KEPT_S
                self._stories[wish] = story


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(max(seconds, 0.0)):
            await event.wait()
    except TimeoutError:
        return
