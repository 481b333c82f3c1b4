"""Streams between two members, as the proxy, copies and the bench need them."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, runtime_checkable

from rookery.errors import DecodeError
from rookery.mesh.tunnel.streams.receive_half import Chunk
from rookery.runtime.net.byte_stream import ByteStream

READ_SIZE = 1 << 18


class MemberStream(ByteStream, Protocol):
    """A stream that was opened by or to a member, with metadata; its errors are RookeryErrors."""

    @property
    def meta(self) -> Mapping[str, object]:
        """The metadata of the stream's opening."""

    @property
    def peer(self) -> str:
        """The hashname of the other end, by whichever route the bytes travel."""


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


class TunnelledStream(MemberStream, Protocol):
    """A stream whose bytes wait while no path leads to the other end."""

    @property
    def is_stalled(self) -> bool:
        """True while no path leads to the other end."""


# Each with hashname, service and metadata.
Open = Callable[[str, str, Mapping[str, object]], Awaitable[MemberStream]]
OpenTunnelled = Callable[[str, str, Mapping[str, object]], Awaitable[TunnelledStream]]
Serve = Callable[[MemberStream], Awaitable[None]]


async def read_exactly(stream: MemberStream, size: int) -> bytes:
    """Read so many bytes; DecodeError when the stream ends before."""
    data = b""
    while len(data) < size:
        more = await stream.read(size - len(data))
        if not more:
            raise DecodeError("the stream ends too soon")
        data += more
    return data
