"""The pump: gives the endpoint's core time, and has what it decides carried out.

    touched, used, a timer ──▶ flush ──▶ take ──▶ each event carried out ──▶ until nothing is left
                                                                          └──▶ out with it

A core on top of the endpoint's (the mesh's) is flushed first, gets every event but transmissions,
and is woken by the same timer.

The pump also notices when its two clocks disagree about how much time has passed. A virtual machine
or container that goes on from a snapshot has the keys and counters of that moment, and an attacker
who recorded what was sent since could use that. The monotonic clock goes on from where the snapshot
was taken; the wall clock is the host's, or is set soon after. An operator who sets the clock looks
the same, so what follows from it must do no harm.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from rookery.link.channel import Channel
from rookery.link.endpoint import Endpoint
from rookery.link.events import Event, Transmit
from rookery.link.link import Link

JUMP_S: Final = 0.5  # more than any clock drifts between two looks


class ClockJumpDetector:
    """Detects that this process may be a copy; asked once per turn, before anything is sealed."""

    __slots__ = ("_offset_s", "_wall")

    def __init__(self, wall: Callable[[], float], now: float) -> None:
        self._wall = wall
        self._offset_s = wall() - now

    def is_broken(self, now: float) -> bool:
        """Whether the wall clock has jumped since the last time this was asked."""
        before, self._offset_s = self._offset_s, self._wall() - now
        return abs(self._offset_s - before) > JUMP_S


_TIMER_S: Final = 0.001
_BUSY_S: Final = 0.001  # runs that follow each other so closely leave deadlines to a timer


class UpperLayer(Protocol):
    """A core on top of the endpoint's."""

    @property
    def deadline(self) -> float | None: ...

    def tick(self, now: float) -> bool:
        """Do what is due by now; whether anything was."""

    def handle(self, event: Event, now: float) -> None: ...

    def report(self) -> None:
        """Let programs know what has come: what they do about it is sent with the rest."""

    def flush(self, now: float) -> None:
        """Send what has gathered."""

    @property
    def has_more(self) -> bool:
        """Whether there was more than one flush may send."""


class Pump:
    """One per endpoint; runs at once, or soon, and never inside itself."""

    def __init__(
        self,
        core: Endpoint,
        carry_out: Callable[[Event], None],
        sent: Callable[[], None],
        clock: Callable[[], float],
        continuity: ClockJumpDetector,
    ) -> None:
        """`sent` is called when all is carried out, and before anything that could wait."""
        self.upper_layer: UpperLayer | None = None
        self._core = core
        self._carry_out = carry_out
        self._sent = sent
        self._now = clock
        self._continuity = continuity
        self._loop = asyncio.get_running_loop()
        self._used: dict[Channel, Link] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._ran_at = float("-inf")
        self._is_due = False
        self._is_closed = False
        self.is_between_runs = True  # and nothing has come since the last one

    def begin(self, now: float) -> None:
        """Before anything is sealed: what a copy of this process sealed must not be repeated."""
        self.is_between_runs = False
        if self._continuity.is_broken(now):
            self._core.leap(now)

    def used(self, link: Link, channel: Channel) -> None:
        """A program has used a channel: something may be due, once it lets the loop go on."""
        self._used[channel] = link
        if not self._is_due:
            self.soon()

    def soon(self) -> None:
        if not self._is_due and not self._is_closed:
            self._is_due = True
            self._loop.call_soon(self.run)

    def run(self) -> None:
        """Carry out what the cores have decided, then sleep until they need to be woken."""
        self._is_due = False
        if self._is_closed:
            return
        used, self._used = self._used, {}
        for channel, link in used.items():
            link.touch(channel)
            self._core.touch(link)
        now = self._now()
        self.begin(now)
        self._flush(now)
        while events := self._core.take():
            is_news = False
            for event in events:
                self._carry_out(event)
                if type(event) is not Transmit:
                    is_news = True
                    if self.upper_layer is not None:
                        self.upper_layer.handle(event, now)
            if is_news:
                self._flush(now)
            else:  # what was sent over a route may have to be bridged
                self._core.flush(now)
        self._sent()
        self.is_between_runs = True
        if self.upper_layer is not None and self.upper_layer.has_more:
            self.soon()
        is_busy, self._ran_at = now - self._ran_at < _BUSY_S, now
        # The upper layer computes its deadline from many parts, too slow for each run.
        self._rearm(now + _BUSY_S if is_busy else self._upper_deadline)

    def close(self) -> None:
        """Nothing is carried out from now on."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _flush(self, now: float) -> None:
        if self.upper_layer is not None:
            was_due, self._is_due = self._is_due, True  # what they do needs no run of its own
            self.upper_layer.report()
            self._is_due = was_due
            if self._used:  # except with channels
                self.soon()
            self.upper_layer.flush(now)
        self._core.flush(now)

    def _rearm(self, upper_deadline: float | None) -> None:
        """Keep one timer; one that comes too early finds nothing to do."""
        deadline = self._core.deadline
        if self.upper_layer is not None and upper_deadline is not None:
            deadline = upper_deadline if deadline is None else min(deadline, upper_deadline)
        if deadline is not None:
            self._wake_at(deadline)

    def _wake_at(self, deadline: float) -> None:
        if self._timer is not None and self._timer_at <= deadline:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = deadline
        delay_s = max(deadline - self._now(), 0.0)
        # uvloop counts milliseconds: what is due in less than half of one would come at once.
        delay_s = max(delay_s, _TIMER_S) if delay_s else 0.0
        self._timer = self._loop.call_later(delay_s, self._tick)

    @property
    def _upper_deadline(self) -> float | None:
        return None if self.upper_layer is None else self.upper_layer.deadline

    def _tick(self) -> None:
        self._timer = None
        # A loop may fire a hair early; what was due for then is due now.
        now = max(self._now(), self._timer_at)
        self.begin(now)
        is_due = False
        if (deadline := self._core.deadline) is not None and deadline <= now:
            self._core.tick(now)
            is_due = True
        if self.upper_layer is not None and self.upper_layer.tick(now):
            is_due = True
        if is_due:
            self.run()
        else:  # it was put off meanwhile, as most are
            self._rearm(self._upper_deadline)
