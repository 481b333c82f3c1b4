"""When a session's keys are renewed, and which message comes next.

    initiator                       responder
        │ ──OFFER───────────────────▶ │          opens the next phase, too
    seals under ◀───────────ANSWER── │
    the next phase ──CONFIRM─────────▶ │          seals under the next phase
        │ ◀──────────────────DONE── │

Only the initiator repeats, twice a second; the responder answers the same again. Where both begin
at once, the offer with the smaller key is dropped. Keys that lie behind open late packets for a
while. One that is not done after 60 tries ends the link: no key outlives what was promised.
"""

from collections import deque
from enum import IntEnum
from typing import Final

from rookery.errors import ProtocolError
from rookery.identity.cipher_set import KeyRenewal, RandomBytes
from rookery.wire.link.renewal import PHASE_MAX, RenewalFrame, RenewalStep

IDLE_S: Final = 3300.0  # no key is used for longer,
BUSY_S: Final = 55.0  # nor for longer than this once it has sealed BUSY_BYTES,
BUSY_BYTES: Final = 64 << 10
DUE_BYTES: Final = 512 << 20  # nor for more than about this,
LIMIT_BYTES: Final = 960 << 20  # and never for this much; what is in flight stays below 1 GiB
YIELD_S: Final = 2.0  # by which one side is later than the other, as one renewal is enough
REPEAT_S: Final = 0.5
TRIES_MAX: Final = 60
OVERLAP_S: Final = 30.0  # for which old keys open packets that are still in flight
SPACING_S: Final = 0.25  # between renewals, so that no peer can have us do little else
DOUBTFUL_TRIES: Final = 3  # from here on every path is tried, as the best one may be dead


class KeyUsage(IntEnum):
    """How much the key in use has sealed."""

    LITTLE = 0
    BUSY = 1
    DUE = 2
    LIMIT = 3


_LEFT: Final = (
    BUSY_BYTES,
    DUE_BYTES - BUSY_BYTES,
    LIMIT_BYTES - DUE_BYTES,
    LIMIT_BYTES,
)


class Renewal:
    """The renewals of one session."""

    __slots__ = (
        "_answer",
        "_due",
        "_keys",
        "_offered",
        "_own",
        "_random",
        "_renewed_at",
        "_retired",
        "_tries",
        "_wear",
        "_yields",
        "has_failed",
    )

    def __init__(self, keys: KeyRenewal, random: RandomBytes, now: float, *, yields: bool) -> None:
        self._keys = keys
        self._random = random
        self._yields = yields
        self._own: RenewalFrame | None = None  # our OFFER or CONFIRM, repeated until answered
        self._answer: RenewalFrame | None = None  # our ANSWER, until the keys are confirmed
        self._offered = b""  # what it answers
        self._tries = 0
        self._wear = KeyUsage.LITTLE
        self._renewed_at = now
        self._retired: deque[tuple[float, int]] = deque()
        self._due = self._next_due
        self.has_failed = False  # the keys must not be used any longer

    @property
    def deadline(self) -> float:
        """When `tick` has something to do."""
        return min(self._due, self._retired[0][0]) if self._retired else self._due

    @property
    def phase(self) -> int:
        return self._keys.phase

    @property
    def is_doubtful(self) -> bool:
        """Whether the message from `tick` should be sent over every path."""
        return self._tries >= DOUBTFUL_TRIES

    @property
    def left(self) -> int:
        """Bytes until the key in use is worn one step further; then call `worn`."""
        return _LEFT[self._wear]

    def worn(self) -> None:
        self._wear = KeyUsage(min(self._wear + 1, KeyUsage.LIMIT))
        self.has_failed |= self._wear is KeyUsage.LIMIT
        if self._is_idle or self.has_failed:
            self._due = self._next_due

    def hasten(self, at: float) -> None:
        """Renew no later than this: a copy of these keys may exist."""
        if self._is_idle:
            self._due = min(self._due, at)

    def tick(self, now: float) -> RenewalFrame | None:
        """What to send, if anything is due."""
        while self._retired and now >= self._retired[0][0]:
            self._keys.retire(self._retired.popleft()[1])
        if now < self._due or self.has_failed:
            return None
        if self._is_idle and not self._begins():
            return None
        if self._tries == TRIES_MAX:
            self.has_failed = True
            return None
        self._tries += 1
        self._due = now + REPEAT_S
        return self._own

    def received(self, frame: RenewalFrame, now: float) -> RenewalFrame | None:
        """What to answer, if anything."""
        match frame.step:
            case RenewalStep.OFFER:
                return self._offer_received(frame, now)
            case RenewalStep.ANSWER:
                return self._answer_received(frame, now)
            case RenewalStep.CONFIRM:
                return self._confirm_received(frame, now)
            case RenewalStep.DONE:
                self._done_received(frame, now)
                return None

    def _offer_received(self, frame: RenewalFrame, now: float) -> RenewalFrame | None:
        if self._answer is not None and frame.phase == self._answer.phase:
            if frame.ephemeral != self._offered:
                raise ProtocolError("two offers for the same keys")
            return self._answer  # it was lost
        if frame.phase != self._keys.phase + 1:
            return None
        if now < self._renewed_at + SPACING_S:
            raise ProtocolError("the peer renews its keys too often")
        if self._own is not None:
            if self._own.step is not RenewalStep.OFFER or not self._yields:
                return None
            self._own = None
            self._keys.withdraw()
        ephemeral = self._keys.answer(frame.ephemeral, self._random)
        self._offered = frame.ephemeral
        self._answer = RenewalFrame(RenewalStep.ANSWER, frame.phase, ephemeral)
        self._tries, self._due = 0, now + REPEAT_S
        return self._answer

    def _answer_received(self, frame: RenewalFrame, now: float) -> RenewalFrame | None:
        own = self._own
        if own is None or own.step is not RenewalStep.OFFER or frame.phase != own.phase:
            return None
        self._keys.adopt(frame.ephemeral)
        self._changed(now)
        self._own = RenewalFrame(RenewalStep.CONFIRM, frame.phase)
        self._tries, self._due = 1, now + REPEAT_S
        return self._own

    def _confirm_received(self, frame: RenewalFrame, now: float) -> RenewalFrame | None:
        if self._answer is not None and frame.phase == self._answer.phase:
            self._keys.confirm()
            self._answer = None
            self._changed(now)
            self._finish(now)
        elif frame.phase != self._keys.phase:
            return None
        return RenewalFrame(RenewalStep.DONE, frame.phase)

    def _done_received(self, frame: RenewalFrame, now: float) -> None:
        own = self._own
        if own is None or own.step is not RenewalStep.CONFIRM or frame.phase != own.phase:
            return
        if not self._keys.is_met:
            raise ProtocolError("the peer is done with keys that it does not use")
        self._own = None
        self._finish(now)

    @property
    def _is_idle(self) -> bool:
        return self._own is None and self._answer is None

    @property
    def _next_due(self) -> float:
        if self._wear is KeyUsage.LIMIT:
            return self._renewed_at
        if self._wear is KeyUsage.DUE:
            return self._renewed_at + 2 * SPACING_S  # the peer's began a little later
        after_s = IDLE_S if self._wear is KeyUsage.LITTLE else BUSY_S
        return self._renewed_at + after_s + (YIELD_S if self._yields else 0.0)

    def _begins(self) -> bool:
        phase = self._keys.phase + 1
        if phase > PHASE_MAX:
            self.has_failed = True
            return False
        self._own = RenewalFrame(RenewalStep.OFFER, phase, self._keys.offer(self._random))
        self._tries = 0
        return True

    def _changed(self, now: float) -> None:
        """We seal under other keys from now on."""
        self._renewed_at, self._wear = now, KeyUsage.LITTLE

    def _finish(self, now: float) -> None:
        """The peer seals under them, too."""
        self._due = self._next_due
        self._retired.append((now + OVERLAP_S, self._keys.phase - 1))
