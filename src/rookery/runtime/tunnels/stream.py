"""A stream of a tunnel, as programs use it: bytes in both directions, over changing paths."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from rookery.errors import ChannelError
from rookery.mesh.tunnel.streams.receive_half import Chunk
from rookery.mesh.tunnel.tunnel import Tunnel, TunnelState

READ_SIZE: Final = 1 << 16
WRITE_SIZE: Final = 1 << 18  # at a time, so that a large write does not hold up the loop


class TunnelStream:
    """One stream; made by `AsyncTunnels.open`, or passed to the handler of its service."""

    def __init__(
        self,
        tunnel: Tunnel,
        number: int,
        peer: str,
        meta: Mapping[str, object],
        *,
        used: Callable[[], None],
        over: Callable[[], object],
        now: Callable[[], float],
    ) -> None:
        self.peer = peer  # the hashname of the other end, by whichever route the bytes travel
        self.meta = meta
        self._tunnel = tunnel
        self._number = number
        self._used = used
        self._over = over  # called when both directions have ended
        self._now = now
        self._on_readable: Callable[[], None] | None = None
        self._on_writable: Callable[[], None] | None = None
        self._is_readable = asyncio.Event()
        self._is_writable = asyncio.Event()
        self._readers = self._writers = 0  # waiting tasks
        self._failure: str | None = None
        self._unread: str | None = None  # why writes fail
        self._is_finished = False
        self._is_read = False

    @property
    def is_stalled(self) -> bool:
        """True while no path leads to the other end, so that written data waits."""
        return self._tunnel.state is TunnelState.STALLED

    async def read(self, size: int = READ_SIZE) -> bytes:
        """Up to so many bytes; none at the end. ChannelError when the stream has failed."""
        while True:
            self._is_readable.clear()
            data = self._tunnel.read(self._number, size)
            if data:
                if self._tunnel.has_control_frames:  # the other side may write more
                    self._used()
                return data
            self._check()
            if self._tunnel.at_end(self._number):
                self._is_read = True
                self._look_whether_over()
                return b""
            self._readers += 1
            try:
                await self._is_readable.wait()
            finally:
                self._readers -= 1

    async def write(self, data: bytes) -> None:
        """Returns when there is room for more; ChannelError when the stream has failed."""
        view: bytes | memoryview = data
        while view:
            self._check()
            if self._unread is not None:
                raise ChannelError(self._unread)
            self._is_writable.clear()
            piece = view if len(view) <= WRITE_SIZE else memoryview(view)[:WRITE_SIZE]
            taken = self._tunnel.write(self._number, piece, self._now())
            self._used()
            if taken == len(view):
                return
            view = memoryview(view)[taken:]
            if taken < len(piece):
                self._writers += 1
                try:
                    await self._is_writable.wait()
                finally:
                    self._writers -= 1

    # --- at once, instead of `read` and `write` ---

    def take(self, size: int = READ_SIZE) -> Chunk | None:
        """What `read` would return, or None where it would wait: `when_readable` calls then."""
        data = self._tunnel.fetch(self._number, size)
        if data:
            if self._tunnel.has_control_frames:
                self._used()
            return data
        self._check()
        if not self._tunnel.at_end(self._number):
            return None
        self._is_read = True
        self._look_whether_over()
        return b""

    def put(self, data: Chunk) -> int:
        """How much was taken; after less than all of it `when_writable` calls."""
        self._check()
        if self._unread is not None:
            raise ChannelError(self._unread)
        taken = self._tunnel.write(self._number, data, self._now())
        self._used()
        return taken

    def when_readable(self, call: Callable[[], None] | None) -> None:
        """Call whenever there may be something to take, the end and a failure included."""
        self._on_readable = call

    def when_writable(self, call: Callable[[], None] | None) -> None:
        self._on_writable = call

    async def finish(self) -> None:
        """Write no more; what the other side writes can still be read."""
        if not self._is_finished and self._failure is None:
            self._is_finished = True
            self._tunnel.finish(self._number)
            self._used()
            self._look_whether_over()

    def stop(self, code: int = 0) -> None:
        """Read no more and tell the other side so; what we wrote still arrives."""
        if not self._is_read and self._failure is None:
            self._is_read = True
            self._tunnel.stop(self._number, code)
            self._used()
            self._look_whether_over()

    def abort(self, code: int = 0) -> None:
        """Drop everything, both ways."""
        if self._failure is None:
            self.failed("the stream was given up here")
            self._tunnel.reset(self._number, code)
            self._used()
            self._over()

    # --- callbacks of the tunnel ---

    def readable(self) -> None:
        if self._readers:
            self._is_readable.set()
        if self._on_readable is not None:
            self._on_readable()

    def writable(self) -> None:
        if self._writers:
            self._is_writable.set()
        if self._on_writable is not None:
            self._on_writable()

    def stopped(self, reason: str) -> None:
        """The other side reads no more; its own data still arrives."""
        self._unread = self._unread or reason
        self.writable()

    def failed(self, reason: str) -> None:
        self._failure = self._failure or reason
        self.readable()
        self.writable()

    def _look_whether_over(self) -> None:
        if self._is_read and self._is_finished:
            self._over()

    def _check(self) -> None:
        if self._failure is not None:
            raise ChannelError(self._failure)
