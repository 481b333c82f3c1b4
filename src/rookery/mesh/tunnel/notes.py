"""Notes: small frames that must arrive, written as things stand when they leave.

A note is remembered by what it is about, not by its bytes: when its packet is lost it is written
anew, with the news of that moment.
"""

from enum import IntEnum
from typing import Final

from rookery.mesh.tunnel.credit import Window
from rookery.mesh.tunnel.sent_packet import Note
from rookery.mesh.tunnel.stream import Stream
from rookery.mesh.tunnel.streams import Streams
from rookery.wire.tunnel_frames import Credit, Opens, Reset, Stop

ALL_STREAMS: Final = 0


class NoteKind(IntEnum):
    """What it is about."""

    CREDIT = 1
    OPENS = 2
    RESET = 3
    STOP = 4


class Notes:
    """Those that wait to be sent."""

    __slots__ = ("_due", "_streams", "_window")

    def __init__(self, streams: Streams, window: Window) -> None:
        self._due: dict[Note, None] = {}
        self._streams = streams
        self._window = window

    def __len__(self) -> int:
        return len(self._due)

    def add(self, kind: int, stream: int = ALL_STREAMS) -> None:
        self._due[(kind, stream)] = None

    def take(self, room: int, rtt_s: float, held: int, now: float) -> list[tuple[Note, bytes]]:
        """As many as fit, the oldest first."""
        taken = []
        for note in list(self._due):
            frame = self._frame(note, rtt_s, held, now)
            if frame is None:
                del self._due[note]
                continue
            if len(frame) > room:
                break
            del self._due[note]
            room -= len(frame)
            taken.append((note, frame))
        return taken

    def acknowledged(self, note: Note) -> Stream | None:
        """The stream that may be over by this."""
        stream = self._streams.get(note[1])
        if stream is None or note[0] != NoteKind.RESET:
            return None
        stream.sending.is_reset_known = True
        return stream

    def _frame(self, note: Note, rtt_s: float, held: int, now: float) -> bytes | None:
        kind, number = note
        if kind == NoteKind.OPENS:
            return Opens(self._streams.grant()).serialize()
        if number == ALL_STREAMS:
            return Credit(ALL_STREAMS, self._window.tell(now, rtt_s, held)).serialize()
        stream = self._streams.get(number)
        return None if stream is None else _about(stream, kind, rtt_s, now)


def _about(stream: Stream, kind: int, rtt_s: float, now: float) -> bytes | None:
    """None where it is of no use any more."""
    receiving, sending = stream.receiving, stream.sending
    if kind == NoteKind.CREDIT:
        if receiving.size is not None or receiving.code is not None:
            return None
        return Credit(stream.id, stream.window.tell(now, rtt_s)).serialize()
    if kind == NoteKind.STOP:
        if receiving.code is not None or receiving.is_complete:
            return None
        return Stop(stream.id, stream.stop_code).serialize()
    if sending.code is None or sending.is_reset_known:
        return None
    return Reset(stream.id, sending.code, sending.sent).serialize()
