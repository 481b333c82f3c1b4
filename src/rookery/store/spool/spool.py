"""Spool: observations on disk, in order, before their receipt is acknowledged.

append ─▶ buffer ─(256 KB, or 20 ms after the first)─▶ write, fdatasync ─▶ durable(position) returns
                                                        one at a time, in a thread

A position counts the bytes of all records before it, since the folder's first; it only grows, also
over restarts. When there is no room, policy `refuse` takes nothing more, so that nothing more is
acknowledged and the senders keep it; `drop_oldest` removes whole segments, read or not.
"""

import asyncio
import errno
import logging
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, NoReturn, Self, TextIO

from rookery.errors import CongestionError, LocalError
from rookery.store.spool.folder_lock import lock_folder
from rookery.store.spool.reader import SpoolReader
from rookery.store.spool.segment import HEADER_SIZE, Segment, SegmentFile, frame, segments

SEGMENT_BYTES = 64 << 20
BYTES_MAX = 8 << 30
BUFFER_BYTES_MAX = 64 << 20
GROUP_S = 0.02
GROUP_BYTES = 256 << 10

Policy = Literal["refuse", "drop_oldest"]

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FAILURES_KEPT = 1000
_log = logging.getLogger(__name__)


class SpoolFullError(CongestionError):
    """No room: the bound of the spool, of its buffer or of the disk is reached."""


class SpoolFailedError(LocalError):
    """A write to the disk failed."""


class Spool:
    """`await Spool.open(folder)`; one per folder. Its methods belong to the loop's thread."""

    def __init__(
        self,
        folder: Path,
        lock: TextIO,
        *,
        segment_bytes: int,
        bytes_max: int,
        policy: Policy,
        group_s: float,
    ) -> None:
        self._folder = folder
        self._lock = lock
        self._segment_bytes = segment_bytes
        self._bytes_max = bytes_max
        self.policy: Policy = policy  # may change while it is open
        self._group_s = group_s
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "spool")
        self._segments: list[Segment] = []  # the last one is written to, while there is a file
        self._file: SegmentFile | None = None
        self._end = self._durable = 0
        self._buffer: list[bytes] = []
        self._buffered = 0
        self._group_at = 0.0  # when the buffer has to be written
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Future[None] | None = None
        self._waiters: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._failures: deque[tuple[int, int, OSError]] = deque(maxlen=_FAILURES_KEPT)
        self._refused_at: int | None = None  # the end at that time; until later data is on disk
        self.torn_bytes = 0  # cut off when it was opened
        self.dropped_segments = 0
        self.written_groups = 0
        self.failed_writes = 0

    @classmethod
    async def open(
        cls,
        folder: Path,
        *,
        segment_bytes: int = SEGMENT_BYTES,
        bytes_max: int = BYTES_MAX,
        policy: Policy = "refuse",
        group_s: float = GROUP_S,
    ) -> Self:
        """Go on behind the last whole record; UsageError when another has the folder open."""
        lock = await asyncio.to_thread(lock_folder, folder)
        spool = cls(
            folder,
            lock,
            segment_bytes=segment_bytes,
            bytes_max=bytes_max,
            policy=policy,
            group_s=group_s,
        )
        try:
            await asyncio.to_thread(spool._recover)
        except BaseException:
            spool._thread.shutdown()
            lock.close()
            raise
        return spool

    def _recover(self) -> None:
        found = segments(self._folder)
        while found and found[-1].end == found[-1].start and not found[-1].is_headed:
            found.pop().path.unlink()  # a crash came before its header
        if not found:
            # After the clock, so that a place in an earlier spool is never taken for one in this.
            self._end = self._durable = time.time_ns() // 1_000_000 << 20
            return
        self._segments = found
        last = found[-1]
        if not last.is_headed:  # damaged: readers will say so
            self._end = self._durable = last.end
            return
        end = last.start
        for record in last.records(last.start):
            end = record.position
        self.torn_bytes = last.end - end
        if self.torn_bytes:
            _log.warning("%s: %d bytes of a torn record are cut off", last.path, self.torn_bytes)
        self._end = self._durable = end
        self._file = SegmentFile.reopen(last, end)

    async def close(self) -> None:
        """Write what is buffered, then release the folder."""
        while self._buffer or self._writing is not None:
            self._write()
            if self._writing is not None:
                await asyncio.wait([self._writing])
                await asyncio.sleep(0)  # its callback comes first
        await self._loop.run_in_executor(self._thread, self._close_file)
        self._thread.shutdown()
        self._lock.close()

    @property
    def position(self) -> int:
        """Up to where everything is durable."""
        return self._durable

    @property
    def start(self) -> int:
        """The oldest position that can still be read."""
        return self._segments[0].start if self._segments else self._durable

    @property
    def size(self) -> int:
        """Bytes that it takes, with what is buffered."""
        return self._end - self.start + HEADER_SIZE * max(len(self._segments), 1)

    @property
    def is_full(self) -> bool:
        """Whether something was refused, and nothing that came later is on disk."""
        return self._refused_at is not None

    def append(self, records: Sequence[bytes]) -> int:
        """Buffer them; the position to wait for. SpoolFullError: none of them was taken."""
        data = frame(records)
        self._make_room(len(data))
        if not self._buffer:
            self._group_at = self._loop.time() + self._group_s
        self._buffer.append(data)
        self._buffered += len(data)
        self._end += len(data)
        if self._writing is None:
            self._schedule()
        return self._end

    async def durable(self, position: int) -> None:
        """Until all before is on disk; SpoolFullError or SpoolFailedError when it never will be."""
        if position > self._durable:
            waiter = self._loop.create_future()
            self._waiters.append((position, waiter))
            await waiter
        for start, end, error in self._failures:
            if start < position <= end:
                kind = SpoolFullError if error.errno in _NO_ROOM else SpoolFailedError
                raise kind(f"the spool cannot write: {error.strerror}")

    def read(self, position: int = 0) -> SpoolReader:
        """Records that are durable now; it blocks, so read in a thread what may be much."""
        return SpoolReader(self._folder, position, until=self._durable)

    def trim(self, position: int) -> None:
        """Remove the segments that end before this position."""
        while len(self._segments) > 1 and self._segments[1].start <= position:
            self._segments.pop(0).path.unlink(missing_ok=True)

    def _make_room(self, size: int) -> None:
        if self._buffered + size > BUFFER_BYTES_MAX:
            self._refuse("the disk is slower than what comes")
        while self.size + size > self._bytes_max:
            if self.policy == "refuse" or len(self._segments) < 2:
                self._refuse(f"it has its {self._bytes_max} bytes")
            self._drop_oldest()

    def _refuse(self, why: str) -> NoReturn:
        self._say_full(why)
        raise SpoolFullError(f"the spool is full: {why}")

    def _say_full(self, why: str) -> None:
        if not self.is_full:  # log once, not for every refusal
            _log.error("the spool %s is full, and takes nothing more: %s", self._folder, why)
        self._refused_at = self._end

    def _drop_oldest(self) -> None:
        oldest = self._segments.pop(0)
        oldest.path.unlink(missing_ok=True)
        self.dropped_segments += 1
        _log.error("%s is dropped to make room, read or not", oldest.path)

    def _schedule(self) -> None:
        if self._buffered >= GROUP_BYTES:
            self._write()
        elif self._timer is None:
            self._timer = self._loop.call_at(self._group_at, self._write)

    def _write(self) -> None:
        """Hand the buffer to the thread; what comes meanwhile is the next group."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._writing is not None or not self._buffer:
            return
        group, self._buffer = self._buffer, []
        start, self._buffered = self._end - self._buffered, 0
        self._begin(group, start, self._end)

    def _begin(self, group: list[bytes], start: int, end: int) -> None:
        segment = None
        if self._file is None or start - self._segments[-1].start >= self._segment_bytes:
            segment = Segment.at(self._folder, start)
            if not self._segments or self._segments[-1] != segment:
                self._segments.append(segment)
        self._writing = self._loop.run_in_executor(self._thread, self._perform, group, segment)
        self._writing.add_done_callback(lambda done: self._written(done, group, start, end))

    def _perform(self, group: list[bytes], segment: Segment | None) -> None:
        """In the thread."""
        if segment is not None:
            self._close_file()
            self._file = SegmentFile.create(segment)
        assert self._file is not None
        try:
            self._file.append(b"".join(group))
        except OSError:
            self._close_file()  # after a failed write the kernel's cached state is unknown
            raise

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _written(
        self, done: "asyncio.Future[None]", group: list[bytes], start: int, end: int
    ) -> None:
        self._writing = None
        error = done.exception()
        if isinstance(error, OSError) and error.errno in _NO_ROOM and self._may_drop():
            self._drop_oldest()
            self._begin(group, start, end)
            return
        if error is None:
            self.written_groups += 1
            if self._refused_at is not None and end > self._refused_at:
                _log.warning("the spool %s has room again", self._folder)
                self._refused_at = None
        else:
            self._fail(error, start, end)
        self._durable = end
        self._wake()
        if self._buffer:
            self._schedule()

    def _may_drop(self) -> bool:
        return self.policy == "drop_oldest" and len(self._segments) > 1

    def _fail(self, error: BaseException, start: int, end: int) -> None:
        """These positions will never be durable; later ones may be."""
        if not isinstance(error, OSError):
            raise error
        self.failed_writes += 1
        if self._segments and self._segments[-1].start == start:
            self._segments.pop().path.unlink(missing_ok=True)  # nothing came into it
        if error.errno in _NO_ROOM:
            self._say_full(error.strerror or "no room")
        else:
            _log.error("the spool cannot write: %s", error.strerror)
        self._failures.append((start, end, error))

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, deque()
        for position, waiter in waiters:
            if position > self._durable:
                self._waiters.append((position, waiter))
            elif not waiter.done():
                waiter.set_result(None)
