"""Follows wishes to their end, and cancels those that no request follows any more."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import suppress

from rookery.errors import RookeryError
from rookery.fleet.rendezvous.wish import Wish, WishStep
from rookery.hub.hub import Hub

PULSE_S = 10.0  # so that a proxy between does not take a quiet stream for a dead one


class DeviceConnectProgress:
    """Counts the followers of each wish: two windows of one client share a wish."""

    def __init__(self, hub: Hub, connect_s: float) -> None:
        self._hub = hub
        self._connect_s = connect_s
        self._watchers: Counter[int] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._pumps: set[asyncio.Task[None]] = set()

    async def steps(self, wish: Wish) -> AsyncGenerator[WishStep | None, None]:
        """Each step up to `done` or `failed`; None when there was none for a while."""
        steps: asyncio.Queue[WishStep] = asyncio.Queue()  # as long as a wish's steps, which are few
        self._watchers[wish.id] += 1
        pump = asyncio.get_running_loop().create_task(self._pump(wish, steps))
        self._pumps.add(pump)
        is_over = False
        try:
            while not is_over:
                step = await _next(steps)
                is_over = step is not None and step.is_last
                yield step
        finally:
            self._pumps.discard(pump)
            self._own(pump)
            pump.cancel()
            self._leave(wish, is_over=is_over)

    def close(self) -> None:
        """End all streams of steps."""
        for pump in self._pumps:
            pump.cancel()

    async def closed(self) -> None:
        """Wait until abandoned wishes are cancelled."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _pump(self, wish: Wish, steps: asyncio.Queue[WishStep]) -> None:
        why = "the hub lost sight of this wish; connect again"
        try:
            async with asyncio.timeout(self._connect_s):
                async for step in self._hub.steps(wish):
                    steps.put_nowait(step)
        except TimeoutError:
            why = "this takes too long; connect again"
        except RookeryError as error:
            why = str(error)
        except asyncio.CancelledError:
            why = "the hub is being stopped; connect again in a moment"
            raise
        finally:
            # Read only where no last step came before it.
            steps.put_nowait(WishStep(wish.id, "failed", why, time.time(), reason=why))

    def _leave(self, wish: Wish, *, is_over: bool) -> None:
        self._watchers[wish.id] -= 1
        if self._watchers[wish.id]:
            return
        del self._watchers[wish.id]
        if not is_over:
            # In a task of its own: the task of a closed request is cancelled and cannot wait.
            self._own(asyncio.get_running_loop().create_task(self._cancel(wish)))

    def _own(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _cancel(self, wish: Wish) -> None:
        with suppress(RookeryError):  # it then ends by its own deadline
            await self._hub.cancel(wish)


async def _next(steps: asyncio.Queue[WishStep]) -> WishStep | None:
    with suppress(TimeoutError):
        async with asyncio.timeout(PULSE_S):
            return await steps.get()
    return None
