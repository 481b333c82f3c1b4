"""The pump of a tower: has the core's events carried out, and wakes the core when it is time."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from rookery.crow.events import Notice
from rookery.crow.nodes.nodes import Nodes
from rookery.wire.crow.packet import CrowPacket

HANDLED_MAX: Final = 8  # messages whose consequences are worked out before they are carried out
POSTED_MAX: Final = 32  # messages that wait for the end of the turn
POSTPONED_MAX: Final = 64  # turns that reading may hold up the core's clock

# Of the core's clock; looking for its next deadline every turn costs too much.
_PRECISION_S: Final = 0.001


class CrowPump:
    """`carry_out` may do whatever it likes with the core; what follows is carried out, too."""

    def __init__(
        self,
        nodes: Nodes,
        clock: Callable[[], float],
        senders: Mapping[int, Callable[[list[CrowPacket]], None]],
        carry_out: Callable[[list[Notice]], None],
    ) -> None:
        """`senders` are for transmissions, by gate; `carry_out` is for everything else."""
        self._nodes = nodes
        self._now = clock
        self._senders = senders
        self._carry_out = carry_out
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._is_rearm_due = False
        self._is_running = False
        self._is_closed = False
        self._posted = 0  # times that something was to be carried out soon
        self._postponed = 0  # times in a row that the core was not woken
        self.is_behind = False  # a gate has more to read

    def run(self) -> None:
        """Carry out what the core has decided."""
        if self._is_running or self._is_closed:  # the outer one will see to it
            return
        self._is_running = True
        nodes, carry_out = self._nodes, self._carry_out
        try:
            while not nodes.is_quiet:
                self._transmit()  # whoever is acknowledged need not wait until nodes were told
                notices = nodes.take_notices(self._now(), HANDLED_MAX)
                self._transmit()
                carry_out(notices)
        finally:
            self._is_running = False
        if not self._is_rearm_due:
            self._is_rearm_due = True
            self._loop.call_later(_PRECISION_S, self._rearm)

    def soon(self) -> None:
        """Carry it out before this turn of the loop ends, along with what else comes up."""
        self._posted += 1
        if self._posted == 1:
            self._loop.call_soon(self._run_posted)
        elif self._posted % POSTED_MAX == 0:
            self.run()

    def close(self) -> None:
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _transmit(self) -> None:
        for gate, packets in self._nodes.tower.take_transmissions():
            self._senders[gate](packets)

    def _run_posted(self) -> None:
        self._posted = 0
        self.run()

    def _rearm(self) -> None:
        """Keep one timer; one that comes too early finds nothing to do."""
        self._is_rearm_due = False
        deadline = self._nodes.deadline
        if self._is_closed or deadline is None:
            return
        if self._timer is not None:
            if self._timer_at <= deadline:
                return
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = self._loop.call_later(max(deadline - self._now(), 0.0), self._tick)

    def _tick(self) -> None:
        self._timer = None
        if self.is_behind and self._postponed < POSTPONED_MAX:
            # What would be repeated may be acknowledged in what nobody has read yet.
            self._postponed += 1
            self._timer = self._loop.call_later(0, self._tick)
            return
        self._postponed = 0
        # A loop may fire a hair early; what was due for then is due now.
        self._nodes.tick(max(self._now(), self._timer_at))
        self.run()
