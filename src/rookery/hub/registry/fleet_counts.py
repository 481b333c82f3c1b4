"""Fleet counts: devices and servers, and how many of them are silent."""

import asyncio
import contextlib
from collections import Counter

from rookery.errors import UnreachableError
from rookery.hub.clock import HubClock
from rookery.store.hot.hot_store import HotStore

INTERVAL_S = 60.0
KINDS = ("router", "server")


class FleetCounts:
    """Counts at intervals, as counting 100,000 entries on each request would cost too much."""

    def __init__(self, hot: HotStore, clock: HubClock) -> None:
        self._hot = hot
        self._clock = clock
        self.counts: Counter[tuple[str, str]] = Counter()  # by kind and state

    async def run(self) -> None:
        while True:
            with contextlib.suppress(UnreachableError):
                await self.take()
            await asyncio.sleep(INTERVAL_S)

    async def take(self) -> None:
        counts: Counter[tuple[str, str]] = Counter(
            {(kind, state): 0 for kind in KINDS for state in ("present", "silent")}
        )
        for kind in KINDS:
            async for entries in self._hot.scan(kind):
                silent = sum(self._clock.is_silent(entry.last_seen) for entry in entries)
                counts[kind, "silent"] += silent
                counts[kind, "present"] += len(entries) - silent
                await asyncio.sleep(0)
        self.counts = counts
