"""A byte stream between two members, as the proxy needs it: a stream of a tunnel is one."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from rookery.errors import DecodeError

READ_SIZE = 1 << 18


class ByteStream(Protocol):
    """Once it is aborted by either side, or its tunnel is lost, both ways raise RookeryError."""

    @property
    def meta(self) -> Mapping[str, object]:
        """Of the opening."""

    @property
    def peer(self) -> str:
        """The hashname of the other end, whoever carries the bytes."""

    async def read(self, size: int) -> bytes:
        """Up to so many bytes; none at the end."""

    async def write(self, data: bytes) -> None:
        """Returns when there is room for more."""

    async def finish(self) -> None:
        """Write no more; what the other side writes can still be read. Again: nothing."""

    def abort(self, code: int) -> None:
        """Drop everything, both ways."""


class TunnelledStream(ByteStream, Protocol):
    """One whose bytes wait as long as no way leads to the other end."""

    @property
    def is_stalled(self) -> bool:
        """Whether they do."""


Open = Callable[[str, str, Mapping[str, object]], Awaitable[ByteStream]]  # hashname, service, meta
OpenTunnelled = Callable[[str, str, Mapping[str, object]], Awaitable[TunnelledStream]]
Serve = Callable[[ByteStream], Awaitable[None]]


async def read_exactly(stream: ByteStream, size: int) -> bytes:
    """DecodeError when it ends before."""
    data = b""
    while len(data) < size:
        more = await stream.read(size - len(data))
        if not more:
            raise DecodeError("the stream ends too soon")
        data += more
    return data
