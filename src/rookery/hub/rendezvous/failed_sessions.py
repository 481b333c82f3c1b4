"""Failed sessions, recorded for the lake; servers report the sessions that were established."""

import itertools

from rookery.errors import LocalError
from rookery.fleet.entry import server_id
from rookery.fleet.rendezvous.wish import Wish, WishStep
from rookery.hub.clock import HubClock
from rookery.store.spool.spool import Spool
from rookery.wire.fleet import telemetry
from rookery.wire.fleet.mac import mac_text
from rookery.wire.fleet.telemetry import SessionReport
from rookery.wire.observation import SESSION, Observation

_TEXT_SIZE_MAX = 256


class FailedSessionLog:
    """Best effort: without room in the spool they are only counted."""

    def __init__(self, hub: str, spool: Spool, clock: HubClock) -> None:
        """`hub` is its hashname: like a server's, its id is no device's."""
        self._sender = server_id(hub)
        self._spool = spool
        self._clock = clock
        self._boot = self._now_ms()
        self._numbers = itertools.count(1)
        self.lost = 0

    def failed(self, wish: Wish, step: WishStep) -> None:
        """Record a rendezvous that failed."""
        now, number = self._now_ms(), next(self._numbers)
        report = SessionReport(
            t=now,
            b=self._boot,
            n=number,
            who=wish.client[:_TEXT_SIZE_MAX],
            router=mac_text(wish.mac),
            opened_at=round(wish.made_at * 1000),
            closed_at=now,
            reason=step.reason[:_TEXT_SIZE_MAX],
        )
        try:
            content = telemetry.encode(report)
            head = (now, SESSION, self._sender, self._boot, number)
            self._spool.append([Observation(*head, content).serialize()])
        except LocalError:
            self.lost += 1

    def _now_ms(self) -> int:
        return round(self._clock.now() * 1000)
