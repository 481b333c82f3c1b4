"""Intake: what one origin has sent us, so that a repeated request is recognised.

Requests of one epoch come with rising ids, and what is written again after a lost session comes
before anything new. So two numbers tell every repeat, however old: the highest id received, and the
highest handled. Replies are kept until the origin says that it has them.

    id ≤ handled   answered again, from what is kept
    id ≤ received  still being handled: its answer follows
    id > received  new
"""

from collections.abc import Iterable
from typing import Final

from rookery.errors import ProtocolError
from rookery.outbox.limits import OutboxLimits
from rookery.wire.outbox.frames import (
    AcknowledgementFrame,
    ErrorFrame,
    OutboxErrorCode,
    Qos,
    ReplyFrame,
)
from rookery.wire.outbox.request import RequestFrame

KEPT_BYTES_MAX: Final = 16 << 20

Answer = AcknowledgementFrame | ReplyFrame | ErrorFrame


class IncomingRequest:
    """A request that came and is to be handled, in the order of coming."""

    __slots__ = ("epoch", "floor", "id", "origin", "payload", "qos", "wants_reply")

    def __init__(
        self,
        origin: str,
        epoch: int,
        id: int,  # noqa: A002 - as the frame calls it
        qos: Qos,
        wants_reply: bool,
        payload: bytes,
        floor: int = 1,
    ) -> None:
        self.origin: Final = origin
        self.epoch: Final = epoch
        self.id: Final = id
        self.qos: Final = qos
        self.wants_reply: Final = wants_reply
        self.payload: Final = payload
        self.floor: Final = floor  # no answer below this id is asked for again


class RequestOutcome:
    """What the handler made of it: a reply, perhaps an empty one, or an error."""

    __slots__ = ("code", "reply", "text")

    def __init__(
        self, reply: bytes = b"", code: OutboxErrorCode | None = None, text: str = ""
    ) -> None:
        self.reply: Final = reply
        self.code: Final = code
        self.text: Final = text


class RequestIntake:
    """Of one origin; outlives its sessions, and with a ledger the process."""

    __slots__ = (
        "_bytes",
        "_count",
        "_kept",
        "_kept_bytes",
        "_limits",
        "epoch",
        "handled",
        "origin",
        "received",
    )

    def __init__(self, origin: str, limits: OutboxLimits) -> None:
        self.origin = origin
        self._limits = limits
        self._count = self._bytes = 0  # received and not handled
        self._begin(0)

    def _begin(self, epoch: int) -> None:
        self.epoch = epoch
        self.received = self.handled = 0
        self._kept: dict[int, ReplyFrame | ErrorFrame] = {}  # by id, rising
        self._kept_bytes = 0

    def restore(self, epoch: int, handled: int, kept: Iterable[ReplyFrame | ErrorFrame]) -> None:
        """As it was before a restart."""
        self._begin(epoch)
        self.received = self.handled = handled
        for answer in kept:
            self._keep(answer)

    def introduced(self, epoch: int) -> None:
        """Another epoch numbers anew."""
        if epoch != self.epoch:
            self._begin(epoch)

    @property
    def pending(self) -> int:
        """Requests that are being handled or wait for it."""
        return self._count

    def arrived(self, frame: RequestFrame) -> IncomingRequest | Answer | None:
        """What to handle, else what to answer now, if anything; ProtocolError when it is too much.

        The bound leaves room for requests of sessions before this one.
        """
        self._forget_below(frame.floor)
        if frame.id <= self.handled:
            return self._answer_again(frame)
        if frame.id <= self.received:
            return None
        size = len(frame.payload)
        if self._count >= 2 * self._limits.window_requests or (
            self._count and self._bytes + size > 2 * self._limits.window_bytes
        ):
            raise ProtocolError("more requests than we said we would take")
        self.received = frame.id
        self._count += 1
        self._bytes += size
        return IncomingRequest(
            self.origin,
            self.epoch,
            frame.id,
            frame.qos,
            frame.wants_reply,
            frame.payload,
            frame.floor,
        )

    def done(self, arrival: IncomingRequest, outcome: RequestOutcome) -> Answer | None:
        """It was handled; the answer, unless its origin has begun to number anew."""
        self._count -= 1
        self._bytes -= len(arrival.payload)
        if arrival.epoch != self.epoch or arrival.id <= self.handled:
            return None
        self.handled = arrival.id
        answer = answer_of(arrival, outcome)
        if arrival.qos and not isinstance(answer, AcknowledgementFrame):
            self._keep(answer)
        return answer

    @property
    def settled(self) -> int:
        """All requests up to this id are settled and will not be repeated."""
        return next(iter(self._kept)) - 1 if self._kept else self.handled

    def _answer_again(self, frame: RequestFrame) -> Answer:
        if (kept := self._kept.get(frame.id)) is not None:
            return kept
        if frame.wants_reply:
            return ErrorFrame(
                frame.id, OutboxErrorCode.FORGOTTEN, "handled, but the reply is forgotten"
            )
        return AcknowledgementFrame(frame.id)

    def _keep(self, answer: ReplyFrame | ErrorFrame) -> None:
        self._kept[answer.id] = answer
        self._kept_bytes += _size(answer)
        while (
            len(self._kept) > 2 * self._limits.window_requests or self._kept_bytes > KEPT_BYTES_MAX
        ):
            self._forget(next(iter(self._kept)))

    def _forget_below(self, floor: int) -> None:
        while self._kept and (first := next(iter(self._kept))) < floor:
            self._forget(first)

    def _forget(self, id_: int) -> None:
        self._kept_bytes -= _size(self._kept.pop(id_))


def answer_of(arrival: IncomingRequest, outcome: RequestOutcome) -> Answer:
    """The answer for the origin."""
    if outcome.code is not None:
        return ErrorFrame(arrival.id, outcome.code, outcome.text)
    if arrival.wants_reply:
        return ReplyFrame(arrival.id, outcome.reply)
    return AcknowledgementFrame(arrival.id)


def _size(answer: ReplyFrame | ErrorFrame) -> int:
    return len(answer.payload if isinstance(answer, ReplyFrame) else answer.text)
