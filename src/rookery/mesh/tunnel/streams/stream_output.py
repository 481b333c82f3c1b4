"""Stream output: which stream sends next and how much, within the tunnel's credit.

Streams take turns by deficit round robin, newcomers first: a stream that had nothing to send comes
before those that have been sending all along until it has used up its first quantum. So small
messages pass bulk transfers, and bulk is shared by priority.
"""

from collections import deque
from typing import Final

from rookery.mesh.tunnel.limits import WINDOW_START, TunnelLimits
from rookery.mesh.tunnel.packets.sent_packet import Segment
from rookery.mesh.tunnel.streams.stream import Stream
from rookery.wire.mesh.tunnel_data import DATA_HEADER_SIZE, data_header

_QUANTUM: Final = 1024  # bytes, doubled with each priority
_ALL: Final = 1 << 61  # what compiled code still counts with quickly


def quantum(stream: Stream) -> int:
    return _QUANTUM << stream.priority


class StreamRoundRobin:
    """Streams with something to send."""

    __slots__ = ("_new", "_old")

    def __init__(self) -> None:
        self._new: deque[Stream] = deque()
        self._old: deque[Stream] = deque()

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    @property
    def first(self) -> Stream | None:
        if self._new:
            return self._new[0]
        return self._old[0] if self._old else None

    def add(self, stream: Stream) -> None:
        if not stream.is_queued:
            stream.is_queued = True
            stream.deficit = quantum(stream)
            self._new.append(stream)

    def allowance(self, stream: Stream) -> int:
        """How much the first stream may send in its turn; unlimited when it is the only one."""
        return stream.deficit if len(self._new) + len(self._old) > 1 else _ALL

    def spent(self, stream: Stream, size: int) -> None:
        """The first stream has sent `size` bytes."""
        stream.deficit -= size
        if stream.deficit > 0:
            return
        stream.deficit = quantum(stream)
        if self._new:
            self._new.popleft()
        else:
            self._old.popleft()
        self._old.append(stream)

    def drop_first(self) -> None:
        """The first stream has nothing to send for now."""
        stream = self._new.popleft() if self._new else self._old.popleft()
        stream.is_queued = False


Parts = list[bytes | memoryview]


class StreamOutput:
    """The data of all streams, in turn."""

    __slots__ = (
        "_backlog_max",
        "_backlogs_max",
        "_blocked",
        "_held_max",
        "_round_robin",
        "_spent",
        "_waiting",
        "_window_max",
        "credit",
        "unsent",
    )

    def __init__(self, limits: TunnelLimits) -> None:
        self.credit = WINDOW_START
        self.unsent = 0  # bytes of all streams
        # Taken out of what is no compiled class, as every write asks for them.
        self._backlog_max = limits.backlog_max
        self._backlogs_max = limits.backlogs_max
        self._window_max = limits.window_max
        self._held_max = limits.window_max + limits.backlog_max
        self._spent = 0
        self._round_robin = StreamRoundRobin()
        self._blocked: dict[int, Stream] = {}  # wait for the tunnel's credit
        self._waiting: dict[int, Stream] = {}  # whose programs wait for room

    @property
    def is_ready(self) -> bool:
        return len(self._round_robin) > 0

    @property
    def backlog(self) -> float:
        """Bytes that wait; infinite while a program waits to write more."""
        return float("inf") if self._waiting else self.unsent

    @property
    def credit_left(self) -> int:
        """Flow-control credit left, of the tunnel and of the stream whose turn it is."""
        left = self.credit - self._spent
        stream = self._round_robin.first
        if stream is None:
            return left
        return min(left, stream.sending.credit - stream.sending.sent)

    def write(self, stream: Stream, data: bytes | memoryview) -> int:
        """How much was taken."""
        sending = stream.sending
        room = min(self._backlog_max - sending.unsent, self._backlogs_max - self.unsent)
        room = min(room, self._held_max - sending.held)
        taken = sending.write(data, room)
        self.unsent += taken
        if sending.wants_room:
            self._waiting[stream.id] = stream
        self.changed(stream)
        return taken

    def opened(self, stream: Stream, opening: bytes) -> None:
        """Queue the stream's opening, which comes first and always has room."""
        self.unsent += stream.sending.write(opening, len(opening))
        self.changed(stream)

    def changed(self, stream: Stream) -> None:
        """The stream may have something to send, or new credit."""
        if not stream.sending.is_ready:
            return
        if stream.id in self._blocked:
            if not stream.sending.has_lost:
                return
            del self._blocked[stream.id]  # what is repeated needs no credit
        self._round_robin.add(stream)

    def granted(self, maximum: int) -> None:
        """The tunnel's credit grew."""
        if maximum <= self.credit:
            return
        self.credit = maximum
        blocked, self._blocked = self._blocked, {}
        for stream in blocked.values():
            self.changed(stream)

    def give_up(self, stream: Stream, code: int) -> None:
        """What waits of it will never be sent."""
        self.unsent -= stream.sending.unsent
        stream.sending.reset(code)
        self._blocked.pop(stream.id, None)
        self._waiting.pop(stream.id, None)

    def take_writable(self) -> list[Stream]:
        """Streams with room again, for those who waited."""
        if not self._waiting or self.unsent * 2 > self._backlogs_max:
            return []
        ready = []
        for stream in self._waiting.values():
            sending = stream.sending
            is_short = sending.unsent * 2 <= self._backlog_max
            if is_short and sending.held <= self._window_max:
                ready.append(stream)
        for stream in ready:
            del self._waiting[stream.id]
            stream.sending.wants_room = False
        return ready

    def fill(self, room: int, parts: Parts, segments: list[Segment]) -> int:
        """Bytes for one packet; how much of the room they take."""
        round_robin, free = self._round_robin, room
        while free > DATA_HEADER_SIZE:
            stream = round_robin.first
            if stream is None:
                break
            sending = stream.sending
            before = sending.sent
            size = min(free - DATA_HEADER_SIZE, round_robin.allowance(stream))
            part = sending.next_part(size, self.credit - self._spent)
            if part is None:
                round_robin.drop_first()
                if sending.is_ready:
                    self._blocked[stream.id] = stream
                continue
            start, end, fin = part
            fresh = sending.sent - before
            self._spent += fresh
            self.unsent -= fresh
            parts.append(data_header(stream.id, start, end - start, fin=fin))
            sending.views(start, end, parts)
            segments.append((stream, start, end, fin))
            used = end - start + DATA_HEADER_SIZE
            free -= used
            round_robin.spent(stream, used)
        return room - free
