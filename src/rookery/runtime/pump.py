"""The pump: gives the endpoint's core time, and has what it decides carried out.

    touched, used, a timer ──▶ flush ──▶ take ──▶ each event carried out ──▶ until nothing is left
                                                                          └──▶ out with it

Where another core lives on top of the endpoint's, it is flushed first, told of every event but
transmissions, and woken by the same timer.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from rookery.link.channel import Channel
from rookery.link.endpoint import Endpoint
from rookery.link.events import Event, Transmit
from rookery.link.link import Link


class Resident(Protocol):
    """A core on top of the endpoint's."""

    @property
    def deadline(self) -> float | None: ...

    def tick(self, now: float) -> None: ...

    def handle(self, event: Event, now: float) -> None: ...

    def report(self) -> None:
        """Let programs know what has come: what they do about it is sent with the rest."""

    def flush(self, now: float) -> None:
        """Send what has gathered."""


class Pump:
    """One per endpoint; runs at once, or soon, and never inside itself."""

    def __init__(
        self,
        core: Endpoint,
        carry_out: Callable[[Event], None],
        sent: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        """`sent` is called when all is carried out, and before anything that could wait."""
        self.resident: Resident | None = None
        self._core = core
        self._carry_out = carry_out
        self._sent = sent
        self._now = clock
        self._loop = asyncio.get_running_loop()
        self._used: dict[Channel, Link] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._is_due = False
        self._is_closed = False

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
        self._flush(now)
        while events := self._core.take():
            is_news = False
            for event in events:
                self._carry_out(event)
                if type(event) is not Transmit:
                    is_news = True
                    if self.resident is not None:
                        self.resident.handle(event, now)
            if is_news:
                self._flush(now)
            else:  # what was sent over a route may have to be bridged
                self._core.flush(now)
        self._sent()
        self._rearm()

    def close(self) -> None:
        """Nothing is carried out from now on."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _flush(self, now: float) -> None:
        if self.resident is not None:
            was_due, self._is_due = self._is_due, True  # what they do needs no run of its own
            self.resident.report()
            self._is_due = was_due
            if self._used:  # except with channels
                self.soon()
            self.resident.flush(now)
        self._core.flush(now)

    def _rearm(self) -> None:
        """Keep one timer; one that comes too early finds nothing to do."""
        deadline = self._deadline
        if deadline is None or (self._timer is not None and self._timer_at <= deadline):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = self._loop.call_later(max(deadline - self._now(), 0.0), self._tick)

    @property
    def _deadline(self) -> float | None:
        deadline = self._core.deadline
        if self.resident is None or (other := self.resident.deadline) is None:
            return deadline
        return other if deadline is None else min(deadline, other)

    def _tick(self) -> None:
        self._timer = None
        # A loop may fire a hair early; what was due for then is due now.
        now = max(self._now(), self._timer_at)
        deadline = self._deadline
        if deadline is not None and deadline > now:  # it was put off meanwhile, as most are
            self._rearm()
            return
        self._core.tick(now)
        if self.resident is not None:
            self.resident.tick(now)
        self.run()
