"""Spool: observations on disk, in order, before anybody is told that they were received."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Self

from rookery.errors import CongestionError, LocalError

SEGMENT_BYTES = 64 << 20
BYTES_MAX = 8 << 30
GROUP_S = 0.02
GROUP_BYTES = 256 << 10

Policy = Literal["refuse", "drop_oldest"]


class SpoolFullError(CongestionError):
    """No room: the bound of the spool, of its buffer or of the disk is reached."""


class SpoolFailedError(LocalError):
    """The disk did not take it."""


class Record(NamedTuple):
    """One record, and the position behind it: where to go on reading."""

    position: int
    data: bytes


class Spool:
    """One writer per folder; positions only grow, also over restarts."""

    @classmethod
    async def open(
        cls,
        folder: Path,
        *,
        segment_bytes: int = SEGMENT_BYTES,
        bytes_max: int = BYTES_MAX,
        policy: Policy = "refuse",
    ) -> Self:
        """UsageError when another process has it open."""
        raise NotImplementedError

    def append(self, records: Sequence[bytes]) -> int:
        """Buffer them; the position to wait for. SpoolFullError: none of them was taken."""
        raise NotImplementedError

    async def durable(self, position: int) -> None:
        """Until all before is on disk; SpoolFullError or SpoolFailedError when it never will be."""
        raise NotImplementedError

    def read(self, position: int = 0) -> Iterator[Record]:
        """What is durable, from a position on; blocks, so read in a thread what may be much."""
        raise NotImplementedError

    def trim(self, position: int) -> None:
        """Nobody needs what is before: whole segments of it are removed."""
        raise NotImplementedError

    @property
    def position(self) -> int:
        """Up to where everything is durable."""
        raise NotImplementedError

    async def close(self) -> None:
        """Write what is buffered."""
        raise NotImplementedError
