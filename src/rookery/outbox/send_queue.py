"""Sending: a session's queue, what it has written, and how much more the other side takes."""

from collections import deque
from typing import Final

from rookery.errors import ProtocolError
from rookery.outbox.pool import Guard
from rookery.outbox.request import OutboxRequest
from rookery.outbox.state import RequestState
from rookery.wire.outbox.request import REQUEST_HEADER_SIZE

_IN_SESSION: Final = RequestState.IN_SESSION
_WRITING: Final = RequestState.WRITING
_WRITTEN: Final = RequestState.WRITTEN


class SendQueue:
    """The lists of one session; they belong to the loop's thread."""

    __slots__ = (
        "_bytes",
        "_bytes_max",
        "_guard",
        "_requests_max",
        "half",
        "last_id",
        "queue",
        "written",
    )

    def __init__(self, requests_max: int, bytes_max: int, guard: Guard) -> None:
        self._requests_max = requests_max
        self._bytes_max = bytes_max
        self._guard = guard
        self._bytes = 0  # of payload that is begun and not acknowledged
        self.queue: deque[OutboxRequest] = deque()
        self.half: OutboxRequest | None = None  # begun, with bytes still to come
        self.written: deque[OutboxRequest] = deque()
        self.last_id = 0  # of the last one written whole

    def append(self, request: OutboxRequest) -> None:
        request.state = _IN_SESSION
        self.queue.append(request)

    def has_room(self, request: OutboxRequest) -> bool:
        """Whether the other side would take it; alone, any."""
        if not self.written:
            return True
        is_small = self._bytes + len(request.payload) <= self._bytes_max
        return is_small and len(self.written) < self._requests_max

    def begin(self, room: int, now: float) -> list[OutboxRequest]:
        """The next ones to be written: as many as fill so many bytes, the last perhaps cut.

        One look at the border for all of them. It ends before the first one that the other side
        would not take, that is late, or that has ended otherwise.
        """
        begun: list[OutboxRequest] = []
        queue = self.queue
        with self._guard:
            while queue and room > 0:
                request = queue[0]
                if not request.is_queued:  # dropped while it waited here
                    queue.popleft()
                    continue
                is_late = request.expires_at is not None and request.is_late(now)
                if is_late or not self.has_room(request) or not request.cross_border():
                    break
                begun.append(queue.popleft())
                room -= REQUEST_HEADER_SIZE + len(request.payload)
                if room >= 0:
                    self.wrote(request)
                else:
                    self.began(request)
        return begun

    def began(self, request: OutboxRequest) -> None:
        """Some of its bytes are out, and more are to come."""
        assert self.half is None
        self.half = request
        request.state = _WRITING
        self._bytes += len(request.payload)

    def wrote(self, request: OutboxRequest) -> None:
        """All of its bytes are out."""
        if request is self.half:
            self.half = None
        else:
            self._bytes += len(request.payload)
        request.state = _WRITTEN
        request.was_written = True
        request.is_queued = False
        self.last_id = request.id
        self.written.append(request)

    @property
    def floor(self) -> int | None:
        """The lowest id that is written and unacknowledged."""
        return self.written[0].id if self.written else None

    def acknowledged(self, id_: int) -> list[OutboxRequest]:
        """Those up to this id, which were handled; a request for a reply ends by that only."""
        self.check_written(id_)
        written, done = self.written, []
        for request in written:
            if request.id > id_:
                break
            if request.wants_reply:
                raise ProtocolError("an acknowledgement in place of a reply")
            done.append(request)
        for request in done:
            written.popleft()
            self._bytes -= len(request.payload)
        return done

    def answered(self, id_: int, *, is_reply: bool) -> OutboxRequest:
        """The one with this id, when all before it are acknowledged."""
        if not self.written or self.written[0].id != id_:
            raise ProtocolError("an answer to what was not asked")
        if is_reply and not self.written[0].wants_reply:
            raise ProtocolError("a reply that was not requested")
        request = self.written.popleft()
        self._bytes -= len(request.payload)
        return request

    def check_written(self, id_: int) -> None:
        if id_ > self.last_id:
            raise ProtocolError("an answer to what was not written")
