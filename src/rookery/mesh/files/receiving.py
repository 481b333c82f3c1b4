"""Receiving: the state of a transfer at the end where the file arrives.

    Start ─▶ bytes, exactly as many as announced ─▶ Whole
    any   ─▶ Failed

What a sender says first it is held to: no byte beyond, no other size, no end before.
"""

from enum import Enum, auto

import msgspec

from rookery.errors import DecodeError
from rookery.mesh.files.fault import CopyError, FileFault, RefusedError
from rookery.wire.file_frames import Failed, Frame, Start, Whole


class Store(msgspec.Struct, frozen=True):
    """Write this behind what is there."""

    data: bytes


class Finish(msgspec.Struct, frozen=True):
    """All is there; if this is its digest, it may take its place."""

    digest: str


Action = Start | Store | Finish  # Start: keep so many bytes of what was there, drop the others


class _Phase(Enum):
    STARTING = auto()
    GOING_ON = auto()
    OVER = auto()


class Receiving:
    """`have` bytes were here before; `size` is what was announced already, if it was."""

    __slots__ = ("_have", "_phase", "announced", "received")

    def __init__(self, have: int, size: int | None = None) -> None:
        self.announced = size
        self.received = 0  # of the file, what was here before included
        self._have = have
        self._phase = _Phase.STARTING

    @property
    def is_over(self) -> bool:
        return self._phase is _Phase.OVER

    def handle(self, frame: Frame) -> Action:
        """What to do; CopyError when the other end gave up, or does not keep its word."""
        match frame:
            case Failed(word):
                self._phase = _Phase.OVER
                raise RefusedError(FileFault.of_word(word))
            case Start() if self._phase is _Phase.STARTING:
                return self._started(frame)
            case bytes() if self._phase is _Phase.GOING_ON:
                return self._more(frame)
            case Whole(digest) if self._phase is _Phase.GOING_ON:
                if self.received != self.announced:
                    raise CopyError(FileFault.SIZE)
                self._phase = _Phase.OVER
                return Finish(digest)
            case _:
                raise DecodeError("a frame that has no place here")

    def _started(self, start: Start) -> Start:
        if start.offset not in (0, self._have) or start.offset > start.size:
            raise DecodeError("it begins somewhere else than asked")
        if self.announced not in (None, start.size):
            raise CopyError(FileFault.CHANGED)
        self.announced = start.size
        self.received = start.offset
        self._phase = _Phase.GOING_ON
        return start

    def _more(self, data: bytes) -> Store:
        assert self.announced is not None
        if self.received + len(data) > self.announced:
            raise CopyError(FileFault.SIZE)
        self.received += len(data)
        return Store(data)
