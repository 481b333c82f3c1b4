"""When a link sends on its own: handshake rounds, keepalives and redials.

A round is repeated 1, 3, 7 and 15 seconds after it began and given up after 30; once it has been
answered over some path, the others get until the second repetition. Redials back off from one
second to five minutes. Only times live here; what is sent is the link's business.
"""

from enum import Enum, auto
from typing import Final

REPEAT_AFTER_S: Final[tuple[float, ...]] = (1.0, 3.0, 7.0, 15.0)
GIVE_UP_AFTER_S: Final = 30.0
KEEPALIVE_S: Final = 25.0
REDIAL_S_MIN: Final = 1.0
REDIAL_S_MAX: Final = 300.0
SPACING_S: Final = 1.0  # between rounds that a peer's packets can provoke
_REPEATS_ONCE_ANSWERED: Final = 2


class HandshakeStep(Enum):
    """The next step of a round that is due."""

    REPEAT = auto()
    SETTLE = auto()  # answered on one path: the silent ones have missed it
    GIVE_UP = auto()


class HandshakeSchedule:
    """The timers of one link."""

    __slots__ = ("_begun", "_keepalive_at", "_redial_at", "_redial_s", "_repeated", "_started")

    def __init__(self) -> None:
        self._started: float | None = None  # while a round runs
        self._begun = 0.0  # when the latest round began
        self._repeated = 0
        self._keepalive_at: float | None = None
        self._redial_at: float | None = None
        self._redial_s = REDIAL_S_MIN

    @property
    def is_running(self) -> bool:
        return self._started is not None

    @property
    def deadline(self) -> float | None:
        # The next round waits for the end of this one, or a dead link would never be given up.
        due, redial_at = self._due or self._keepalive_at, self._redial_at
        if due is None or redial_at is None:
            return redial_at if due is None else due
        return min(due, redial_at)

    def begin(self, now: float, jitter: float) -> None:
        """A round begins; the next one keeps the link alive."""
        self._started, self._begun, self._repeated = now, now, 0
        self._redial_at = None
        self._keepalive_at = now + KEEPALIVE_S + 2 * jitter

    def step(self, now: float, *, is_answered: bool) -> HandshakeStep | None:
        """The step that the running round needs now, if any."""
        if self._due is None or now < self._due:
            return None
        if is_answered and self._repeated >= _REPEATS_ONCE_ANSWERED:
            self._started = None
            return HandshakeStep.SETTLE
        if self._repeated == len(REPEAT_AFTER_S):
            self._started = None
            return HandshakeStep.SETTLE if is_answered else HandshakeStep.GIVE_UP
        self._repeated += 1
        return HandshakeStep.REPEAT

    def end(self) -> None:
        """Every path has answered."""
        self._started = None

    def is_keepalive_due(self, now: float) -> bool:
        if self._keepalive_at is None or self.is_running:
            return False
        return now >= self._keepalive_at

    def is_redial_due(self, now: float) -> bool:
        return self._redial_at is not None and now >= self._redial_at

    def hasten(self, now: float) -> None:
        """Have a round soon, because something looks wrong; never more than one a second."""
        if self._keepalive_at is None:
            return
        self._keepalive_at = min(self._keepalive_at, max(now, self._begun + SPACING_S))

    def up(self) -> None:
        self._redial_s = REDIAL_S_MIN

    def down(self, now: float, jitter: float, *, redial: bool) -> None:
        """Stop everything but, where wanted, a later attempt."""
        self._started = self._keepalive_at = self._redial_at = None
        if redial:
            self._redial_at = now + self._redial_s * (0.75 + jitter / 2)
            self._redial_s = min(self._redial_s * 2, REDIAL_S_MAX)

    @property
    def _due(self) -> float | None:
        if self._started is None:
            return None
        if self._repeated < len(REPEAT_AFTER_S):
            return self._started + REPEAT_AFTER_S[self._repeated]
        return self._started + GIVE_UP_AFTER_S
