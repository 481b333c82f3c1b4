"""Observer: puts observations into a spool without ever blocking the caller.

    note ─▶ rate limit by kind ─▶ buffer ─(each second)─▶ spool

Observations that come too fast, or that a full spool or a failing disk cannot take, are counted and
logged once a minute. While no lake lands the spool, its oldest segments are removed for new ones;
once a lake does, nothing is removed before it has landed.
"""

import asyncio
import logging
import os
import time
from collections import Counter
from collections.abc import Coroutine
from hashlib import sha256
from pathlib import Path
from typing import Self

import msgspec

from rookery.errors import LocalError, UsageError
from rookery.fleet.entry import server_id
from rookery.fleet.reports.report_sender import next_boot
from rookery.link.token_bucket import TokenBucket
from rookery.store.spool import watermark
from rookery.store.spool.name import SPOOL, spool_name
from rookery.store.spool.spool import Spool, SpoolFullError
from rookery.wire import base32, observation_content
from rookery.wire.observation import Observation
from rookery.wire.observation_content import KINDS, Observed

WRITE_S = 1.0
TRIM_S = 20.0
WARN_S = 60.0
BUFFERED_MAX = 20_000  # observations that wait for a slow disk

_log = logging.getLogger(__name__)


class ObserverLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much is observed, and how much of it is kept."""

    per_s: float = 100.0  # of each kind
    burst: float = 2000.0
    bytes_max: int = 256 << 20
    segment_bytes: int = 16 << 20


class Observer:
    """`async with await Observer.open(folder, hashname) as observer:`, or call `close`."""

    def __init__(self, spool: Spool, data: Path, sender: bytes, limits: ObserverLimits) -> None:
        self._spool = spool
        self._folder = data / SPOOL
        self._sender = sender
        self._loop = asyncio.get_running_loop()
        now = self._loop.time()
        self._allowances = {kind: TokenBucket(limits.per_s, limits.burst, now) for kind in KINDS}
        self._boot = next_boot(0, wall_ms(), os.urandom)
        self._number = 0
        self._buffer: list[bytes] = []
        self._unsaid: Counter[str] = Counter()
        self._chores = [self._loop.create_task(self._keep())]
        self.kept = 0
        self.lost: Counter[str] = Counter()  # by reason

    @classmethod
    async def open(
        cls,
        data: Path,
        hashname: str,
        limits: ObserverLimits = ObserverLimits(),  # noqa: B008
    ) -> Self:
        """Observe into the spool of this folder; UsageError where there can be none.

        `hashname` is that of the observing node; empty for programs that have none.
        """
        spool = await Spool.open(
            data / SPOOL, segment_bytes=limits.segment_bytes, bytes_max=limits.bytes_max
        )
        try:
            name = await asyncio.to_thread(spool_name, data)
            # A program without keys is identified by its spool, whose name is random.
            sender = server_id(hashname or base32.encode(sha256(name.encode()).digest()))
            observer = cls(spool, data, sender, limits)
            await observer._trim()
        except BaseException:
            await spool.close()
            raise
        return observer

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def note(self, seen: Observed) -> None:
        """Queue an observation within the limits; boot and sequence number are filled in."""
        if not self._allowances[type(seen)].take(1.0, self._loop.time()):
            self._lose("too fast", 1)
            return
        if len(self._buffer) >= BUFFERED_MAX:
            self._lose("disk too slow", 1)
            return
        self._number += 1
        placed = msgspec.structs.replace(seen, b=self._boot, n=self._number)
        try:
            content = observation_content.encode(placed)
        except UsageError:
            self._lose("too large", 1)
            return
        head = (wall_ms(), KINDS[type(seen)], self._sender, self._boot, self._number)
        self._buffer.append(Observation(*head, content).serialize())

    def own(self, work: Coroutine[object, object, None]) -> None:
        """Run a task until `close`, for observers that poll."""
        self._chores.append(self._loop.create_task(work))

    async def write(self) -> None:
        """Write the queued observations to disk, as far as the disk takes them."""
        records, self._buffer = self._buffer, []
        if not records:
            return
        try:
            await self._spool.durable(self._spool.append(records))
        except SpoolFullError:
            self._lose("no room", len(records))
        except LocalError:
            self._lose("disk failed", len(records))
        else:
            self.kept += len(records)

    async def close(self) -> None:
        """Write the queued observations and release the folder."""
        for chore in self._chores:
            chore.cancel()
        await asyncio.gather(*self._chores, return_exceptions=True)
        await self.write()
        self._say()
        await self._spool.close()

    async def _keep(self) -> None:
        trim_at = say_at = self._loop.time()
        while True:
            await asyncio.sleep(WRITE_S)
            await self.write()
            now = self._loop.time()
            if now >= trim_at + TRIM_S:
                trim_at = now
                await self._trim()
            if now >= say_at + WARN_S:
                say_at = now
                self._say()

    async def _trim(self) -> None:
        try:
            position = await asyncio.to_thread(watermark.read, self._folder)
        except UsageError as error:  # rather too much than too little
            self._spool.policy = "refuse"
            _log.error("the spool is not trimmed: %s", error)
            return
        self._spool.policy = "drop_oldest" if position is None else "refuse"
        if position is not None:
            self._spool.trim(min(position, self._spool.position))

    def _lose(self, reason: str, count: int) -> None:
        self.lost[reason] += count
        self._unsaid[reason] += count

    def _say(self) -> None:
        if self._unsaid:
            reasons = ", ".join(f"{reason} {count}" for reason, count in self._unsaid.items())
            _log.warning("%d observations were not kept: %s", self._unsaid.total(), reasons)
            self._unsaid.clear()


def wall_ms() -> int:
    """Now, as observations have it."""
    return time.time_ns() // 1_000_000
