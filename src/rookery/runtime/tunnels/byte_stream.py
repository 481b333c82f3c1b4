"""A byte stream between two members, as the proxy needs it: a stream of a tunnel is one."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, runtime_checkable

from rookery.errors import DecodeError
from rookery.mesh.tunnel.streams.receive_half import Chunk

READ_SIZE = 1 << 18


class ByteStream(Protocol):
    """Once it is aborted by either side, or its tunnel is lost, both ways raise RookeryError."""

    @property
    def meta(self) -> Mapping[str, object]:
        """The metadata of the stream's opening."""

    @property
    def peer(self) -> str:
        """The hashname of the other end, by whichever route the bytes travel."""

    async def read(self, size: int) -> bytes:
        """Up to so many bytes; none at the end."""

    async def write(self, data: bytes) -> None:
        """Returns when there is room for more."""

    async def finish(self) -> None:
        """Write no more; what the other side writes can still be read. Again: nothing."""

    def abort(self, code: int) -> None:
        """Drop everything, both ways."""


@runtime_checkable
class NonblockingStream(Protocol):
    """A stream that can also be used without waiting: `take` and `put`, with callbacks."""

    def take(self, size: int) -> Chunk | None:
        """What `read` would return, or None where it would wait."""

    def put(self, data: Chunk) -> int:
        """Write as much as there is room for; returns how much."""

    def when_readable(self, call: Callable[[], None] | None) -> None:
        """Call whenever `take` may have news, the end and a failure included; None: no more."""

    def when_writable(self, call: Callable[[], None] | None) -> None:
        """Call whenever there is room again, after `put` has taken less than all."""


class TunnelledStream(ByteStream, Protocol):
    """A stream whose bytes wait while no path leads to the other end."""

    @property
    def is_stalled(self) -> bool:
        """True while no path leads to the other end."""


Open = Callable[[str, str, Mapping[str, object]], Awaitable[ByteStream]]  # hashname, service, meta
OpenTunnelled = Callable[[str, str, Mapping[str, object]], Awaitable[TunnelledStream]]
Serve = Callable[[ByteStream], Awaitable[None]]


async def read_exactly(stream: ByteStream, size: int) -> bytes:
    """Read so many bytes; DecodeError when the stream ends before."""
    data = b""
    while len(data) < size:
        more = await stream.read(size - len(data))
        if not more:
            raise DecodeError("the stream ends too soon")
        data += more
    return data
