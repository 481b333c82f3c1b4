"""Session: one connection with a peer; bytes in, bytes out.

    stream ─bytes─▶ receive() ─▶ arrivals to be handled, ends of our requests
    stream ◀─bytes─ take()    ◀─ introduction, answers, then requests from the queue

`take` gives as many bytes as the stream will have. A request crosses the border when its first byte
is given out, and counts as written when its last is. Whatever the other side may not do raises
RemoteError; the session is then of no more use and has to be closed.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from rookery.errors import ChannelError, ProtocolError
from rookery.outbox.intake import Answer, IncomingRequest, RequestIntake
from rookery.outbox.pool import Guard
from rookery.outbox.request import OutboxRequest
from rookery.outbox.send_queue import SendQueue
from rookery.outbox.state import RequestFailure, RequestState
from rookery.wire.outbox.frames import (
    VERSION,
    AcknowledgementFrame,
    ErrorFrame,
    IntroductionFrame,
    OutboxErrorCode,
    ReplyFrame,
)
from rookery.wire.outbox.reader import Frame, OutboxFrameReader
from rookery.wire.outbox.request import REQUEST_HEADER_SIZE, RequestFrame, request_header

CHUNK_SIZE: Final = 1 << 16


class OutboxSessionOwner(Protocol):
    """What a session needs of the peer it belongs to."""

    @property
    def host(self) -> str: ...
    @property
    def introduction(self) -> IntroductionFrame: ...
    @property
    def intake(self) -> RequestIntake: ...
    @property
    def guard(self) -> Guard: ...
    def introduced(self, session: "OutboxSession", them: IntroductionFrame, now: float) -> None: ...
    def fill(self, now: float) -> None: ...
    def floor(self, floor: int) -> int: ...
    def end(
        self, request: OutboxRequest, state: RequestState, failure: RequestFailure | None = None
    ) -> None: ...
    def acknowledged(self, requests: list[OutboxRequest]) -> None: ...
    def expired(self, request: OutboxRequest) -> None: ...
    def lost(self, session: "OutboxSession", now: float) -> None: ...


class OutboxSession:
    """`stir` is called when `take` may have more to give than it had."""

    def __init__(
        self,
        owner: OutboxSessionOwner,
        stir: Callable[[], object],
        *,
        hashname: bytes | None = None,
    ) -> None:
        self._owner = owner
        self._intake = owner.intake
        self._stir = stir
        self._hashname = hashname  # what the introduction has to name, where that is known
        self._reader = OutboxFrameReader()
        self._control: deque[bytes] = deque([owner.introduction.serialize()])
        self._ack = self._acked = 0
        self._received = 0  # highest id of a request in this session
        self._to_answer: deque[int] = deque()  # ids of requests in this session, not answered yet
        self._rest = memoryview(b"")  # of the frame that was cut last
        self.sending: SendQueue | None = None  # once they have introduced themselves
        self.epoch = 0  # theirs
        self.is_closed = False

    # --- out ---

    def take(self, now: float, size_max: int = CHUNK_SIZE) -> bytes:
        """The next bytes for the stream, at most so many; none when there is nothing to say."""
        if self.is_closed:
            return b""
        parts: list[bytes | memoryview] = [self._rest]
        size = len(self._rest)
        if size <= size_max:
            self._complete()
            size = self._say_control(parts, size, size_max)
            if self.sending is not None:
                size = self._write_requests(self.sending, parts, size, size_max, now)
        if size <= size_max:
            self._rest = memoryview(b"")
            return b"".join(parts)
        data = memoryview(b"".join(parts))
        self._rest = data[size_max:]
        return bytes(data[:size_max])

    def stir(self) -> None:
        self._stir()

    def _complete(self) -> None:
        """The frame that was cut has been sent to its last byte."""
        if self.sending is not None and self.sending.half is not None:
            self.sending.wrote(self.sending.half)

    def _say_control(self, parts: list[bytes | memoryview], size: int, size_max: int) -> int:
        """Answers come before requests; the size of all parts."""
        control = self._control
        while control and size < size_max:
            parts.append(control.popleft())
            size += len(parts[-1])
        if not control and self._ack > self._acked and size < size_max:
            self._acked = self._ack
            parts.append(AcknowledgementFrame(self._ack).serialize())
            size += len(parts[-1])
        return size

    def _write_requests(
        self,
        sending: SendQueue,
        parts: list[bytes | memoryview],
        size: int,
        size_max: int,
        now: float,
    ) -> int:
        """As many as there are, as fit, and as the other side takes; the size of all parts."""
        floor = sending.floor and self._owner.floor(sending.floor)
        while size < size_max and (begun := self._begin(sending, size_max - size, now)):
            if floor is None:  # nothing else is in flight, and no answer comes in the meantime
                floor = self._owner.floor(begun[0].id)
            for request in begun:
                payload = request.payload
                length = len(payload)
                parts.append(
                    request_header(request.id, request.qos, floor, length, request.wants_reply)
                )
                parts.append(payload)
                size += REQUEST_HEADER_SIZE + length
        return size

    def _begin(self, sending: SendQueue, room: int, now: float) -> list[OutboxRequest]:
        """The next requests that may be written; those that may not any more are dropped."""
        while (first := self._first(sending, now)) is not None:
            if begun := sending.begin(room, now):
                return begun
            if not sending.has_room(first):
                break
            if first.is_late(now):
                self._owner.expired(first)
            else:
                self._owner.end(first, first.end_unwritten)
        return []

    def _first(self, sending: SendQueue, now: float) -> OutboxRequest | None:
        queue = sending.queue
        while queue and not queue[0].is_queued:  # dropped while it waited here
            queue.popleft()
        if not queue:
            self._owner.fill(now)
        return queue[0] if queue else None

    def answer(self, arrival: IncomingRequest, answer: Answer) -> None:
        """Answer a request of this session; one of an earlier session is repeated if it matters."""
        to_answer = self._to_answer
        if arrival.epoch != self.epoch:
            return
        while to_answer and to_answer[0] < arrival.id:
            to_answer.popleft()
        if to_answer and to_answer[0] == arrival.id:
            to_answer.popleft()
            self._say(answer)
            self._stir()

    def _say(self, answer: Answer) -> None:
        if isinstance(answer, AcknowledgementFrame):
            self._ack = max(self._ack, answer.id)
        else:
            self._acked = max(self._acked, answer.id)
            self._control.append(answer.serialize())

    def refuse(self, code: OutboxErrorCode, text: str) -> bytes:
        """The last bytes of a session that we end, unless a frame is partly sent."""
        return b"" if self._rest else ErrorFrame(0, code, text).serialize()

    # --- in ---

    def receive(self, data: bytes, now: float) -> list[IncomingRequest]:
        """What is to be handled; RemoteError ends the session."""
        arrivals: list[IncomingRequest] = []
        for frame in self._reader.feed(data):
            if self.is_closed:
                break
            if self.sending is None:
                self._introduced(frame, now)
            else:
                self._received_frame(frame, self.sending, arrivals)
        return arrivals

    def _introduced(self, frame: Frame, now: float) -> None:
        match frame:
            case ErrorFrame(0, _, text):
                raise ChannelError(text)
            case IntroductionFrame():
                if frame.version != VERSION:
                    raise ProtocolError(f"version {frame.version} is not spoken here")
            case _:
                raise ProtocolError("a session begins with an introduction")
        if self._hashname is not None and frame.hashname != self._hashname:
            raise ProtocolError("an introduction with another peer's name")
        self.sending = SendQueue(frame.requests_max, frame.bytes_max, self._owner.guard)
        self.epoch = frame.epoch
        self._owner.introduced(self, frame, now)

    def _received_frame(
        self, frame: Frame, sending: SendQueue, arrivals: list[IncomingRequest]
    ) -> None:
        match frame:
            case RequestFrame():
                self._request(frame, arrivals)
            case AcknowledgementFrame(id=id_):
                self._owner.acknowledged(sending.acknowledged(id_))
                self._stir()
            case ReplyFrame(id=id_, payload=payload):
                request = self._answered(id_, sending, is_reply=True)
                request.answer = payload
                self._owner.end(request, RequestState.ANSWERED)
                self._stir()
            case ErrorFrame(id=0, text=text):
                raise ChannelError(text or "the other side ended the session")
            case ErrorFrame(id=id_, text=text):
                request = self._answered(id_, sending, is_reply=False)
                request.failure_text = text or "refused"
                self._owner.end(request, RequestState.FAILED, RequestFailure.REFUSED)
                self._stir()
            case IntroductionFrame():
                raise ProtocolError("a second introduction")

    def _answered(self, id_: int, sending: SendQueue, *, is_reply: bool) -> OutboxRequest:
        sending.check_written(id_)
        self._owner.acknowledged(sending.acknowledged(id_ - 1))
        return sending.answered(id_, is_reply=is_reply)

    def _request(self, frame: RequestFrame, arrivals: list[IncomingRequest]) -> None:
        if frame.id <= self._received:
            raise ProtocolError("requests out of order")
        self._received = frame.id
        match self._intake.arrived(frame):
            case IncomingRequest() as arrival:
                self._to_answer.append(frame.id)
                arrivals.append(arrival)
            case None:
                self._to_answer.append(frame.id)
            case answer:
                self._say(answer)
                self._stir()

    # --- the end ---

    def close(self, now: float) -> None:
        """The stream is lost or given up; further calls do nothing."""
        if not self.is_closed:
            self.is_closed = True
            self._owner.lost(self, now)
            self._stir()
