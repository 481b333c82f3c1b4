"""Power switch: runs a part of the demo, which can be switched off and on again."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager


class PowerSwitch:
    """On at first. The part that it feeds is opened and closed by one and the same task."""

    def __init__(self) -> None:
        self._on, self._off = asyncio.Event(), asyncio.Event()
        self._on.set()
        self._is_running = asyncio.Event()
        self._is_dead = asyncio.Event()
        self._is_over = False

    @property
    def is_on(self) -> bool:
        return self._on.is_set()

    async def switch_on(self) -> None:
        """Switch on, and wait until the part runs."""
        self._off.clear()
        self._on.set()
        await self._is_running.wait()

    async def switch_off(self) -> None:
        """Switch off, and wait until the part has ended."""
        self._on.clear()
        self._off.set()
        await self._is_dead.wait()

    def end(self) -> None:
        """Switch off for good; the part is closed even where a cancellation got lost."""
        self._is_over = True
        self._on.set()
        self._off.set()

    async def running(self) -> None:
        await self._is_running.wait()

    async def feed(self, opened: Callable[[], AbstractAsyncContextManager[object]]) -> None:
        """Run the part whenever there is power, until cancelled or `end`."""
        while True:
            await self._on.wait()
            if self._is_over:
                return
            async with opened():
                self._is_dead.clear()
                self._is_running.set()
                await self._off.wait()
                self._is_running.clear()
            self._is_dead.set()
