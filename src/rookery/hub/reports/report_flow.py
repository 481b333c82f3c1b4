"""Report flow: how the hub processes reports, a batch at a time.

                         ┌─▶ fast path ─┐
    datagrams ─▶ entries ┴─▶ validator ─┴─▶ spool ─┐
                                │                  │ durable
              answers that need no disk            ▼
                                               hot.put ─▶ acknowledgements

Valid telemetry takes the fast path, everything else the validator. One task decides, another
settles what has become durable. A store that is away, a full spool or a faster hub never cost a
report: what is not acknowledged is sent again.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence

from rookery.errors import LocalError, UnreachableError
from rookery.fleet.entry import FleetEntry
from rookery.fleet.reports.report_validator import ReportValidator
from rookery.fleet.reports.security_events import SecurityEvent
from rookery.hub.clock import HubClock
from rookery.hub.registry.code_redemption import CodeRedemption
from rookery.hub.reports.datagram_socket import Address, Received
from rookery.hub.reports.recent_telemetry import RecentTelemetry
from rookery.hub.reports.report_batch import ReportArrival, ReportBatch, ReportGroup, read_arrivals
from rookery.hub.settings import ReportLimits
from rookery.store.hot.hot_store import HotStore
from rookery.store.spool.spool import Spool, SpoolFailedError, SpoolFullError
from rookery.wire.observation import Observation

Send = Callable[[list[bytes], list[Address]], int]
_Known = tuple[ReportBatch, list[FleetEntry | None]]  # and what the hot store has of each arrival


class ReportFlow:
    """`offer` datagrams; `run` processes them until it is cancelled."""

    def __init__(
        self,
        validator: ReportValidator,
        hot: HotStore,
        spool: Spool,
        enrolment: CodeRedemption,
        clock: HubClock,
        *,
        send: Send,
        note: Callable[[SecurityEvent], None],
        called: Callable[[int], None],
        welcome: Callable[[FleetEntry], None],
        relayed: Callable[[Observation], None],
        recent: RecentTelemetry,
        limits: ReportLimits,
    ) -> None:
        self._validator = validator
        self._hot = hot
        self._spool = spool
        self._enrolment = enrolment
        self._clock = clock
        self._send = send
        self._note = note
        self._called = called
        self._welcome = welcome
        self._relayed = relayed
        self._recent = recent
        self._limits = limits
        self._waiting: deque[Received] = deque()
        self._waiting_count = 0
        self._again: list[ReportArrival] = []  # to be decided again, as another hub was faster
        self._new_senders: deque[ReportArrival] = deque()  # whose code is to be looked up
        self.settled = spool.position  # before this, the hot store knows all that is spooled
        self._open = self._settling = self._new_group(spool.position)
        self._has_arrivals, self._has_new_senders, self._has_decided = (
            asyncio.Event() for _ in range(3)
        )
        self._undecided = 0  # how often decisions were taken back
        self.dirty: set[bytes] = set()  # senders that the database does not know as they are
        self.enrolled: set[bytes] = set()  # those of them that it does not know at all
        self.tally: Counter[str] = Counter()

    @property
    def is_full(self) -> bool:
        """True if new datagrams would have to wait for too long."""
        return self._waiting_count >= self._limits.waiting_max

    def offer(self, datagrams: list[bytes], addresses: list[Address]) -> None:
        self._waiting.append((datagrams, addresses))
        self._waiting_count += len(datagrams)
        self._has_arrivals.set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._decide_all())
            tasks.create_task(self._decide_new_senders())
            tasks.create_task(self._settle_all())

    async def finish(self) -> None:
        """After `run` was cancelled: settle all that was offered."""
        while self._waiting or self._again:
            arrivals, self._again = self._again, []
            await self._decide(arrivals + self._read())
        if self._settling is not self._open:
            await self._settle(self._settling)
        self._settling = self._open
        await self._settle(self._settling)
        self._open = self._settling = self._new_group(self._open.position)

    # Deciding

    async def _decide_all(self) -> None:
        while True:
            await self._has_arrivals.wait()
            self._has_arrivals.clear()
            while self._waiting or self._again:
                arrivals, self._again = self._again, []
                arrivals += self._read()
                if len(self._open.decided) >= self._limits.undurable_max:
                    self.tally["shed"] += len(arrivals)
                    continue
                await self._decide(arrivals)
                await asyncio.sleep(0)  # let other tasks run, and more be read

    def _read(self) -> list[ReportArrival]:
        now = self._clock.now()
        arrivals: list[ReportArrival] = []
        while self._waiting and len(arrivals) < self._limits.batch_max:
            received = self._waiting.popleft()
            self._waiting_count -= len(received[0])
            arrivals += read_arrivals(self._validator, received, now)
        return arrivals

    async def _decide(self, arrivals: list[ReportArrival]) -> None:
        """In one go, if the hot store is in memory: nothing else happens in between."""
        known = await self._known(arrivals)
        if known is None:
            return
        batch, entries = known
        strangers = batch.decide(arrivals, entries, {})
        self._spool_batch(batch)
        if strangers:
            self._new_senders += strangers[: self._limits.strangers_max - len(self._new_senders)]
            self._has_new_senders.set()

    async def _known(self, arrivals: list[ReportArrival]) -> _Known | None:
        """A batch with all that is needed to decide; None while a store is away."""
        undecided, groups = self._undecided, (self._open.changed, self._settling.changed)
        senders = [arrival[0] for arrival in arrivals]
        try:
            entries = await self._hot.entries(senders)
            found = await self._hot.wishes(senders)
            room = 0 if all(entries) else await self._room()
        except UnreachableError:
            self.tally["store_away"] += len(arrivals)
            return None
        if undecided != self._undecided:  # what was found meanwhile may be on top of that
            self.tally["shed"] += len(arrivals)
            return None
        pairs = zip(senders, found, strict=True) if any(found) else ()  # they are rare
        wishes = {sender: wish for sender, wish in pairs if wish is not None}
        return ReportBatch(self._validator, groups, wishes, room, self._clock.now()), entries

    async def _room(self) -> int:
        """How many more senders may enrol."""
        room = await self._hot.room()
        return room - len({**self._open.enrolled, **self._settling.enrolled})

    def _spool_batch(self, batch: ReportBatch) -> None:
        """Spool the batch and send what needs no disk; all of it is forgotten if that fails."""
        group = self._open
        try:
            if batch.records:
                group.position = self._spool.append(batch.records)
        except (SpoolFullError, SpoolFailedError):
            self.tally["spool_full"] += len(batch.decided)
            return
        group.changed |= batch.changed
        group.decided += batch.decided
        group.answers += batch.answers
        group.enrolled |= batch.enrolled
        group.calls += batch.calls()
        if group.decided or group.changed:
            self._has_decided.set()
        if batch.answers_now:
            self._send(batch.answers_now, batch.addresses_now)
        for event in batch.events:
            self._note(event)
        for wish in batch.called:
            self._called(wish)

    # New senders with a code, which only the database knows

    async def _decide_new_senders(self) -> None:
        while True:
            await self._has_new_senders.wait()
            self._has_new_senders.clear()
            while self._new_senders:
                arrivals = list(self._new_senders)
                self._new_senders.clear()
                try:
                    await self._decide_with_codes(arrivals)
                except UnreachableError:
                    self.tally["store_away"] += len(arrivals)

    async def _decide_with_codes(self, arrivals: list[ReportArrival]) -> None:
        ids = {code for *_, incoming in arrivals if incoming and (code := incoming.code_id)}
        codes = await self._enrolment.codes(list(ids))
        owners = await self._enrolment.owners([arrival[0] for arrival in arrivals])
        known = await self._known(arrivals)
        if known is None:
            return
        batch, entries = known
        batch.decide(arrivals, entries, codes, owners)
        for sender, redeemed in list(batch.redeemed.items()):
            if not await self._enrolment.redeem(batch.enrolled[sender], redeemed):
                batch.forget(sender)
        for sender in batch.enrolled.keys() & (self._open.changed | self._settling.changed):
            if sender not in batch.rebound:
                batch.forget(sender)  # without a code it was quicker
        await self._catch_up(batch)
        self._spool_batch(batch)

    async def _catch_up(self, batch: ReportBatch) -> None:
        """Those replaced may have reported since: it must not keep them in their place."""
        rebound = list(batch.rebound)
        held = await self._hot.entries(rebound) if rebound else []
        for sender, entry in zip(rebound, held, strict=True):
            newest = self._open.changed.get(sender) or self._settling.changed.get(sender)
            newest = newest or entry
            batch.changed[sender].version = 0 if newest is None else newest.version

    # Settling

    async def _settle_all(self) -> None:
        while True:
            await self._has_decided.wait()
            self._has_decided.clear()
            group = self._settling = self._open
            self._open = self._new_group(group.position)
            await self._settle(group)
            self._settling = self._open
            self.settled = group.position

    def _new_group(self, position: int) -> ReportGroup:
        return ReportGroup(position, self._spool.failed_writes)

    async def _settle(self, group: ReportGroup) -> None:
        entries = list(group.changed.values())
        try:
            await self._spool.durable(group.position)
            if self._spool.failed_writes != group.failed_writes:  # perhaps with some of ours
                raise SpoolFailedError("the spool could not write")
            results = await self._hot.put(entries) if entries else []
        except LocalError as error:
            what = "store_away" if isinstance(error, UnreachableError) else "spool_failed"
            self.tally[what] += len(group.decided)
            self._undecide(list(group.changed))
            return
        if not all(results):
            pairs = zip(entries, results, strict=True)
            losers = [entry.sender for entry, is_put in pairs if not is_put]
            self.tally["conflict"] += len(losers)
            self._again += self._undecide(losers)
            self._has_arrivals.set()
        self.dirty.update(group.changed)
        for sender in group.changed.keys() & self._open.changed.keys():
            self._open.changed[sender].version = group.changed[sender].version
        self.tally["unsent"] += len(group.answers) - self._send(group.answers, group.addresses())
        self._recent.take(group.changed.values())
        self.enrolled.update(group.enrolled)
        for entry in group.enrolled.values():
            self._welcome(entry)
        for record in group.calls:
            self._relayed(Observation.parse(record))

    def _undecide(self, senders: Sequence[bytes]) -> list[ReportArrival]:
        """Drop also what was decided on top of reports that were not kept."""
        self._undecided += 1
        arrivals = self._settling.forget(senders)
        return arrivals + self._open.forget(senders)
