"""The hub's own audit rows: enrolments, relayed calls, security events.

Any sender of datagrams can cause such rows, so their rate and the number that wait for the database
are bounded. Suppressed rows are counted, and the count is written as a row. Enrolling devices have
a small share of their own, so that many new ones do not hide an attack.
"""

import asyncio
import contextlib
from collections import deque

from rookery.errors import DecodeError, UnreachableError
from rookery.fleet.entry import FleetEntry
from rookery.fleet.reports.security_events import SecurityEvent
from rookery.hub.clock import HubClock
from rookery.link.token_bucket import TokenBucket
from rookery.store.accounts.audit import AuditRow, AuditTrail
from rookery.wire.fleet import telemetry
from rookery.wire.fleet.telemetry import CallReport
from rookery.wire.observation import Observation

ROWS_MAX = 1000
CALLS_MAX = 10_000  # rows that wait, until calls are not put on record any more
PER_S = 10.0
BURST = 200.0
ENROLLED_PER_S = 2.0
ENROLLED_BURST = 50.0
WRITE_S = 1.0

_PORTION = 200


class AuditLog:
    """`run` writes what was noted until it is cancelled; `flush` writes the rest."""

    def __init__(self, audit: AuditTrail, clock: HubClock) -> None:
        self._audit = audit
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._allowance = TokenBucket(PER_S, BURST, self._loop.time())
        self._enrolments = TokenBucket(ENROLLED_PER_S, ENROLLED_BURST, self._loop.time())
        self._rows: deque[AuditRow] = deque()
        self._unsaid = 0  # since the last row that tells of it
        self.suppressed = 0

    def security(self, event: SecurityEvent) -> None:
        what = f"security.{event.kind.replace(' ', '_')}"
        self._note(event.sender.hex(":"), what, event.detail, event.address)

    def enrolled(self, entry: FleetEntry) -> None:
        """Not rate limited for servers, as each needs a code."""
        if entry.kind == "router" and not self._may_enrol():
            self._suppress()
            return
        self._note(entry.hashname, f"{entry.kind}.enrolled", "", entry.address, entry.sender)

    def certified(self, entry: FleetEntry, names: frozenset[str]) -> None:
        """A server got a certificate."""
        listed = " ".join(sorted(names))
        self._note(entry.hashname, "server.certified", listed, entry.address, entry.sender)

    def uncertified(self, entry: FleetEntry, address: str, why: str) -> None:
        """A server asked for a certificate of a name that does not lead to it."""
        self._note(entry.hashname, "security.foreign_name", why, address, entry.sender)

    def called(self, observation: Observation) -> None:
        """A call that a server relayed. Only enrolled servers report these, so no rate applies."""
        try:
            call = telemetry.decode(observation.content)
        except DecodeError:
            return
        if not isinstance(call, CallReport):
            return
        if len(self._rows) >= CALLS_MAX:
            self._suppress()
            return
        detail: dict[str, object] = {
            "method": call.method,
            "ms": call.ms,
            "code": call.code,
            "seat": call.seat,
            "server": observation.sender.hex(":"),
            "server_ms": call.t,
        }
        row = AuditRow(
            at=self._clock.now(),
            who=call.who,
            what="rpc.called",
            target=call.router,
            detail=detail,
        )
        self._rows.append(row)

    async def run(self) -> None:
        while True:
            await asyncio.sleep(WRITE_S)
            with contextlib.suppress(UnreachableError):  # the rows wait, up to their bound
                await self.flush()

    async def flush(self) -> None:
        """Write all that waits; UnreachableError leaves it waiting."""
        if self._unsaid and len(self._rows) < ROWS_MAX:
            detail: dict[str, object] = {"rows": self._unsaid}
            self._rows.append(
                AuditRow(at=self._clock.now(), who="hub", what="audit.suppressed", detail=detail)
            )
            self._unsaid = 0
        while self._rows:
            portion = [self._rows[index] for index in range(min(_PORTION, len(self._rows)))]
            await self._audit.add(*portion)
            for _ in portion:
                self._rows.popleft()

    def _note(
        self, who: str, what: str, detail: str, address: str, target: bytes | None = None
    ) -> None:
        is_allowed = self._allowance.take(1.0, self._loop.time())
        if not is_allowed or len(self._rows) >= ROWS_MAX:
            self._suppress()
            return
        row = AuditRow(
            at=self._clock.now(),
            who=who,
            what=what,
            target="" if target is None else target.hex(":"),
            detail={"detail": detail} if detail else {},
            address=address,
        )
        self._rows.append(row)

    def _may_enrol(self) -> bool:
        """While the database is away, rows wait; enrolments may use half of the places."""
        return len(self._rows) < ROWS_MAX // 2 and self._enrolments.take(1.0, self._loop.time())

    def _suppress(self) -> None:
        self.suppressed += 1
        self._unsaid += 1
