"""File receiver: the state of a transfer at the end where the file arrives.

    Start ─▶ bytes, exactly as many as announced ─▶ Whole
    any   ─▶ Failed

What a sender says first it is held to: no byte beyond, no other size, no end before.
"""

from enum import Enum, auto

import msgspec

from rookery.errors import DecodeError
from rookery.mesh.files.fault import CopyError, CopyRefusedError, FileFault
from rookery.wire.mesh.file_frames import Frame, TransferFailed, TransferStart, TransferWhole


class StoreChunk(msgspec.Struct, frozen=True):
    """Write this behind what is there."""

    data: bytes


class FinishFile(msgspec.Struct, frozen=True):
    """All is there; if this is its digest, it may take its place."""

    digest: str


ReceiverAction = (
    TransferStart | StoreChunk | FinishFile
)  # Start: keep so many bytes of what was there, drop the others


class _TransferPhase(Enum):
    STARTING = auto()
    GOING_ON = auto()
    OVER = auto()


class FileReceiver:
    """`have` bytes were here before; `size` is what was announced already, if it was."""

    __slots__ = ("_have", "_phase", "announced", "received")

    def __init__(self, have: int, size: int | None = None) -> None:
        self.announced = size
        self.received = 0  # of the file, what was here before included
        self._have = have
        self._phase = _TransferPhase.STARTING

    @property
    def is_over(self) -> bool:
        return self._phase is _TransferPhase.OVER

    def handle(self, frame: Frame) -> ReceiverAction:
        """What to do; CopyError when the other end gave up, or does not keep its word."""
        match frame:
            case TransferFailed(word):
                self._phase = _TransferPhase.OVER
                raise CopyRefusedError(FileFault.of_word(word))
            case TransferStart() if self._phase is _TransferPhase.STARTING:
                return self._started(frame)
            case bytes() if self._phase is _TransferPhase.GOING_ON:
                return self._more(frame)
            case TransferWhole(digest) if self._phase is _TransferPhase.GOING_ON:
                if self.received != self.announced:
                    raise CopyError(FileFault.SIZE)
                self._phase = _TransferPhase.OVER
                return FinishFile(digest)
            case _:
                raise DecodeError("a frame that has no place here")

    def _started(self, start: TransferStart) -> TransferStart:
        if start.offset not in (0, self._have) or start.offset > start.size:
            raise DecodeError("it begins somewhere else than asked")
        if self.announced not in (None, start.size):
            raise CopyError(FileFault.CHANGED)
        self.announced = start.size
        self.received = start.offset
        self._phase = _TransferPhase.GOING_ON
        return start

    def _more(self, data: bytes) -> StoreChunk:
        assert self.announced is not None
        if self.received + len(data) > self.announced:
            raise CopyError(FileFault.SIZE)
        self.received += len(data)
        return StoreChunk(data)
