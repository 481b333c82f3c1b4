"""A byte stream between two programs: a stream of a tunnel, or a socket."""

from typing import Protocol


class ByteStream(Protocol):
    """Once it is aborted by either side, or its carrier is lost, reads and writes raise."""

    async def read(self, size: int, /) -> bytes:
        """Up to so many bytes; none at the end."""

    async def write(self, data: bytes, /) -> None:
        """Returns when there is room for more."""

    async def finish(self) -> None:
        """Write no more; what the other side writes can still be read. Again: nothing."""

    def abort(self, code: int, /) -> None:
        """Drop everything in both directions."""
