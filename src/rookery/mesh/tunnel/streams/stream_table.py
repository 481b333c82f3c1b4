"""Streams of a tunnel: who may open how many, and which have been.

The tunnel's opener numbers its streams 1, 3, 5, …, the other side 2, 4, 6, …. At first each may
open `STREAMS_START`; for every one that is over it may open another.
"""

from collections.abc import Iterator
from typing import Final

from rookery.errors import CongestionError, ProtocolError
from rookery.mesh.tunnel.limits import STREAMS_START, TunnelLimits
from rookery.mesh.tunnel.streams.flow_control import ReceiveWindow
from rookery.mesh.tunnel.streams.ranges import Ranges
from rookery.mesh.tunnel.streams.stream import Stream
from rookery.wire.mesh.tunnel_frames import STREAM_MAX

_GRANT_SHARE: Final = 4


class StreamTable:
    """All streams of one tunnel that are not over on both sides."""

    __slots__ = (
        "_ended",
        "_first",
        "_limits",
        "_live",
        "_opened",
        "_seen",
        "opens_granted",
        "opens_max",
    )

    def __init__(self, limits: TunnelLimits, *, is_opener: bool) -> None:
        self._limits = limits
        self._first = 1 if is_opener else 2
        self._live: dict[int, Stream] = {}
        self._opened = 0  # by us
        self._seen = Ranges()  # places of the peer's streams that ever were
        self._ended = 0  # of the peer's
        self.opens_max = STREAMS_START  # granted by the peer
        self.opens_granted = STREAMS_START  # granted to the peer

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[Stream]:
        return iter(self._live.values())

    def get(self, number: int) -> Stream | None:
        return self._live.get(number)

    def open(self, now: float) -> Stream:
        """A stream of ours, or CongestionError."""
        number = self._first + 2 * self._opened
        if self._opened >= self.opens_max or number > STREAM_MAX:
            raise CongestionError(f"{self._opened} streams were opened and no more are granted")
        self._opened += 1
        return self._add(number, now, is_ours=True)

    def named(self, number: int, now: float) -> Stream | None:
        """The stream that a frame of the peer names; None: it is over."""
        stream = self._live.get(number)
        if stream is not None:
            return stream
        place = (number - 1) // 2
        if number % 2 == self._first % 2:
            if place >= self._opened:
                raise ProtocolError("a stream that was never opened")
            return None
        if place >= self.opens_granted:
            raise ProtocolError("more streams than were granted")
        if place in self._seen:
            return None
        self._seen.add(place, place + 1)
        return self._add(number, now, is_ours=False)

    def was(self, number: int) -> bool:
        """The stream is over, rather than none."""
        place = (number - 1) // 2
        if number % 2 == self._first % 2:
            return 0 <= place < self._opened
        return place in self._seen

    def forget(self, stream: Stream) -> bool:
        """Remove a stream that is over; True if the peer should now be granted more."""
        del self._live[stream.id]
        if stream.is_ours:
            return False
        self._ended += 1
        return (self._ended + STREAMS_START - self.opens_granted) * _GRANT_SHARE >= STREAMS_START

    def grant(self) -> int:
        self.opens_granted = min(self._ended + STREAMS_START, STREAM_MAX)
        return self.opens_granted

    def _add(self, number: int, now: float, *, is_ours: bool) -> Stream:
        stream = Stream(number, ReceiveWindow(self._limits.window_max, now), is_ours=is_ours)
        self._live[number] = stream
        return stream
