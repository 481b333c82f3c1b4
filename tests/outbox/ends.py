"""Two outboxes and the streams between them, on which every byte can be held back or lost.

alice ─take─▶ [bytes under way] ─feed─▶ bob
      ◀─feed─ [bytes under way] ◀─take─
"""

from collections import Counter, deque
from itertools import count

from rookery.errors import RemoteError
from rookery.outbox.intake import IncomingRequest, RequestOutcome
from rookery.outbox.ledger import RequestNumbering
from rookery.outbox.limits import OutboxLimits
from rookery.outbox.outbox import Outbox
from rookery.outbox.peer import OutboxPeer
from rookery.outbox.request import OutboxRequest
from rookery.outbox.session import OutboxSession
from rookery.wire import base32
from rookery.wire.outbox.frames import Qos
from rookery.wire.outbox.reader import OutboxFrameReader
from rookery.wire.outbox.request import RequestFrame

ALICE, BOB = "a" * 51 + "a", "b" * 51 + "a"

_names = count(1)  # of epochs and memories: never the same twice


def numbering() -> RequestNumbering:
    return RequestNumbering(epoch=next(_names), memory=next(_names))


class End:
    """One outbox with one peer, and what a program on top of it sees."""

    def __init__(self, name: str, other: str, limits: OutboxLimits | None = None) -> None:
        self.name = name
        self.other = other
        self.wakes = 0
        self.limits = limits or OutboxLimits()
        self.outbox = Outbox(base32.decode(name), limits=self.limits, wake=self._wake)
        self.outbox.add_peer(other, numbering())
        self.session: OutboxSession | None = None
        self.stream = b""  # what left and did not arrive yet
        self.arrivals: deque[IncomingRequest] = deque()
        self.ends: Counter[OutboxRequest] = Counter()

    def _wake(self) -> None:
        self.wakes += 1

    @property
    def peer(self) -> OutboxPeer:
        return self.outbox.peer(self.other)

    def request(
        self,
        payload: bytes,
        qos: int = Qos.ONCE_AT_LEAST,
        *,
        expires_at: float | None = None,
        wants_reply: bool = False,
    ) -> OutboxRequest:
        request = OutboxRequest.create(
            self.outbox.pool, payload, qos=qos, expires_at=expires_at, wants_reply=wants_reply
        )
        request.watcher = self._ended
        return request

    def add(
        self,
        payload: bytes,
        qos: int = Qos.ONCE_AT_LEAST,
        now: float = 0.0,
        *,
        expires_at: float | None = None,
        wants_reply: bool = False,
    ) -> OutboxRequest:
        request = self.request(payload, qos, expires_at=expires_at, wants_reply=wants_reply)
        self.peer.add_packet(request)
        self.outbox.process(now)
        return request

    def _ended(self, request: OutboxRequest) -> None:
        self.ends[request] += 1

    def dial(self) -> None:
        self.session = OutboxSession(self.peer, lambda: None, hashname=base32.decode(self.other))
        self.stream = b""

    def write(self, now: float, size_max: int = 1 << 16) -> bytes:
        """Let the stream have so many bytes."""
        data = b"" if self.session is None else self.session.take(now, size_max)
        self.stream += data
        return data

    def feed(self, data: bytes, now: float) -> None:
        if self.session is not None and not self.session.is_closed:
            try:
                self.arrivals += self.session.receive(data, now)
            except RemoteError:
                self.lose(now)
                raise

    def lose(self, now: float) -> None:
        if self.session is not None:
            self.session.close(now)
            self.session = None

    def handle(self, outcome: RequestOutcome | None = None) -> IncomingRequest:
        arrival = self.arrivals.popleft()
        self.peer.handled(arrival, outcome or RequestOutcome(b"re:" + arrival.payload))
        return arrival


class Pair:
    """Alice and bob, and a clock for both."""

    def __init__(self, limits: OutboxLimits | None = None) -> None:
        self.now = 0.0
        self.alice = End(ALICE, BOB, limits)
        self.bob = End(BOB, ALICE, limits)

    def connect(self) -> None:
        self.alice.dial()
        self.bob.dial()

    def pass_on(self, sender: End, size: int = 1 << 20) -> None:
        """So many of the bytes under way arrive."""
        receiver = self.bob if sender is self.alice else self.alice
        data, sender.stream = sender.stream[:size], sender.stream[size:]
        receiver.feed(data, self.now)

    def settle(self) -> list[IncomingRequest]:
        """Write, pass on and handle until there is nothing left to do; what was handled."""
        handled = []
        while True:
            is_quiet = True
            for end in (self.alice, self.bob):
                end.outbox.process(self.now)
                while end.write(self.now):
                    is_quiet = False
                self.pass_on(end)
            for end in (self.alice, self.bob):
                while end.arrivals:
                    is_quiet = False
                    handled.append(end.handle())
            if is_quiet:
                return handled

    def lose(self) -> None:
        self.alice.lose(self.now)
        self.bob.lose(self.now)
        self.alice.stream = self.bob.stream = b""


class Tap:
    """The ids of requests whose frames have passed whole, in order, as the bytes have it."""

    def __init__(self) -> None:
        self._reader = OutboxFrameReader()
        self.whole: list[int] = []

    def feed(self, data: bytes) -> list[bytes]:
        """The payloads of which the last byte is among these."""
        frames = [frame for frame in self._reader.feed(data) if isinstance(frame, RequestFrame)]
        self.whole += [frame.id for frame in frames]
        return [frame.payload for frame in frames]
