"""Control frames: small frames that must arrive, written when their packet leaves.

A control frame is remembered by its kind and stream, not by its bytes: when its packet is lost, it
is written again with the values of that moment.
"""

from enum import IntEnum
from typing import Final

from rookery.mesh.tunnel.packets.sent_packet import ControlFrameKey
from rookery.mesh.tunnel.streams.flow_control import ReceiveWindow
from rookery.mesh.tunnel.streams.stream import Stream
from rookery.mesh.tunnel.streams.stream_table import StreamTable
from rookery.wire.mesh.tunnel_frames import TunnelCredit, TunnelOpens, TunnelReset, TunnelStop

ALL_STREAMS: Final = 0


class ControlFrameKind(IntEnum):
    """What it is about."""

    CREDIT = 1
    OPENS = 2
    RESET = 3
    STOP = 4


class ControlFrames:
    """The control frames that wait to be sent."""

    __slots__ = ("_due", "_streams", "_window")

    def __init__(self, streams: StreamTable, window: ReceiveWindow) -> None:
        self._due: dict[ControlFrameKey, None] = {}
        self._streams = streams
        self._window = window

    def __len__(self) -> int:
        return len(self._due)

    def add(self, kind: int, stream: int = ALL_STREAMS) -> None:
        self._due[(kind, stream)] = None

    def take(
        self, room: int, rtt_s: float, held: int, now: float
    ) -> list[tuple[ControlFrameKey, bytes]]:
        """As many frames as fit, oldest first."""
        taken = []
        for key in list(self._due):
            frame = self._frame(key, rtt_s, held, now)
            if frame is None:
                del self._due[key]
                continue
            if len(frame) > room:
                break
            del self._due[key]
            room -= len(frame)
            taken.append((key, frame))
        return taken

    def acknowledged(self, key: ControlFrameKey) -> Stream | None:
        """The stream that may be over now that this frame has arrived."""
        stream = self._streams.get(key[1])
        if stream is None or key[0] != ControlFrameKind.RESET:
            return None
        stream.sending.is_reset_known = True
        return stream

    def _frame(self, key: ControlFrameKey, rtt_s: float, held: int, now: float) -> bytes | None:
        kind, number = key
        if kind == ControlFrameKind.OPENS:
            return TunnelOpens(self._streams.grant()).serialize()
        if number == ALL_STREAMS:
            return TunnelCredit(ALL_STREAMS, self._window.tell(now, rtt_s, held)).serialize()
        stream = self._streams.get(number)
        return None if stream is None else _about(stream, kind, rtt_s, now)


def _about(stream: Stream, kind: int, rtt_s: float, now: float) -> bytes | None:
    """The frame as things stand now; None when it is obsolete."""
    receiving, sending = stream.receiving, stream.sending
    if kind == ControlFrameKind.CREDIT:
        if receiving.size is not None or receiving.code is not None:
            return None
        return TunnelCredit(stream.id, stream.window.tell(now, rtt_s)).serialize()
    if kind == ControlFrameKind.STOP:
        if receiving.code is not None or receiving.is_complete:
            return None
        return TunnelStop(stream.id, stream.stop_code).serialize()
    if sending.code is None or sending.is_reset_known:
        return None
    return TunnelReset(stream.id, sending.code, sending.sent).serialize()
