"""Batches of reports: arrivals are decided in batches and become durable in groups.

A `ReportBatch` decides arrivals one on top of the other; nothing is kept yet. A `ReportGroup` holds
what was decided until the spool is durable. Entries are put into the hot store only after that: a
registry that knew of a report which no disk holds would acknowledge its repeat, and the report
would be lost. Until then later reports of the same senders are decided by the entries in the group.

A datagram that is telemetry by its form stays bytes: usually only the fast path looks at it.
"""

from collections.abc import Iterable

import msgspec

from rookery.fleet.enrolment.code import EnrolmentCode
from rookery.fleet.enrolment.enrolment import is_admitting, name_of
from rookery.fleet.entry import FleetEntry, copied
from rookery.fleet.reports.report_fast_path import sender_of
from rookery.fleet.reports.report_outcome import IncomingReport, ReportOutcome
from rookery.fleet.reports.report_validator import ReportValidator
from rookery.fleet.reports.security_events import SecurityEvent
from rookery.hub.reports.datagram_socket import Address, Received, address_text
from rookery.wire import observation as observations
from rookery.wire.observation import CALLED, KIND_AT, Observation

# Sender, address, datagram, and what the validator has parsed, if it did already.
# A plain tuple, as there is one for every report.
ReportArrival = tuple[bytes, Address, bytes, IncomingReport | None]


def read_arrivals(
    validator: ReportValidator, received: Received, now: float
) -> list[ReportArrival]:
    """The datagrams that have the form of a report or hello, in order."""
    arrivals: list[ReportArrival] = []
    datagrams, addresses = received
    for index, datagram in enumerate(datagrams):
        address = addresses[index]
        sender = sender_of(datagram)
        if sender is not None:
            arrivals.append((sender, address, datagram, None))
            continue
        incoming = validator.read(datagram, address_text(address), now)
        if incoming is not None:
            arrivals.append((incoming.sender, address, datagram, incoming))
    return arrivals


class ReportGroup:
    """Reports that become durable together."""

    __slots__ = ("answers", "calls", "changed", "decided", "enrolled", "failed_writes", "position")

    def __init__(self, position: int, failed_writes: int) -> None:
        self.position = position  # of the spool, up to which all of this is
        self.failed_writes = failed_writes  # of the spool, before the first of it
        self.changed: dict[bytes, FleetEntry] = {}  # by sender
        self.decided: list[ReportArrival] = []
        self.answers: list[bytes] = []  # to each of those, once all of this is durable
        self.enrolled: dict[bytes, FleetEntry] = {}
        self.calls: list[bytes] = []  # records of calls, for the audit

    def forget(self, senders: Iterable[bytes]) -> list[ReportArrival]:
        """Drop what was decided about these senders; returns their arrivals."""
        gone = set(senders)
        for sender in gone:
            self.changed.pop(sender, None)
            self.enrolled.pop(sender, None)
        arrivals = [arrival for arrival in self.decided if arrival[0] in gone]
        if arrivals:
            pairs = zip(self.decided, self.answers, strict=True)
            kept = [each for each in pairs if each[0][0] not in gone]
            self.decided = [arrival for arrival, _ in kept]
            self.answers = [answer for _, answer in kept]
        return arrivals

    def addresses(self) -> list[Address]:
        """Where the answers go."""
        return [arrival[1] for arrival in self.decided]


ChangedEntries = tuple[
    dict[bytes, FleetEntry], dict[bytes, FleetEntry]
]  # what changed: in the open one, before it
CodesById = dict[bytes, EnrolmentCode | None]  # by id; None: there is none
OwnersByDevice = dict[bytes, int]  # accounts, of devices that have one


class ReportBatch:
    """Open wishes of all who are in it are known when it is made."""

    def __init__(
        self,
        validator: ReportValidator,
        groups: ChangedEntries,
        wishes: dict[bytes, int],
        room: int,
        now: float,
    ) -> None:
        """`room` is how many may enrol."""
        self._validator = validator
        self._fast_path = validator.fast_path(address_text, now)
        self._groups = groups
        self._wishes = wishes
        self._room = room
        self._now = now
        self.records = self._fast_path.records
        self.changed: dict[bytes, FleetEntry] = {}
        self.decided: list[ReportArrival] = []
        self.answers = self._fast_path.answers  # to each of those, once the records are durable
        self.enrolled: dict[bytes, FleetEntry] = {}
        self.redeemed: dict[bytes, EnrolmentCode] = {}  # of those enrolled, who needs a code for it
        self.rebound: set[bytes] = set()  # of those enrolled, in place of another key
        self.answers_now: list[bytes] = []  # that need no disk
        self.addresses_now: list[Address] = []
        self.events: list[SecurityEvent] = []
        self.called: set[int] = set()  # wishes that devices were called for

    def decide(
        self,
        arrivals: list[ReportArrival],
        entries: list[FleetEntry | None],
        codes: CodesById,
        owners: OwnersByDevice | None = None,
    ) -> list[ReportArrival]:
        """Decide each arrival; returns those whose code has to be looked up.

        `entries` are from the hot store; those of the groups and of this batch are newer.
        """
        owners = owners or {}
        young, old = self._groups
        changed, decided, wishes, fast_path = (
            self.changed,
            self.decided,
            self._wishes,
            self._fast_path,
        )
        passed = 0
        undecided: list[ReportArrival] = []
        for index, arrival in enumerate(arrivals):
            sender, address, datagram, incoming = arrival
            entry = changed.get(sender)
            if entry is None:
                entry = young.get(sender)
            if entry is None:
                entry = old.get(sender)
            if entry is None:
                entry = entries[index]
            if incoming is None and entry is not None and sender not in wishes:
                taken = fast_path.take(datagram, entry, address)
                if taken is not None:
                    passed += 1
                    changed[sender] = taken
                    decided.append(arrival)
                    continue
            if not self._is_decided(arrival, entry, codes, owners):
                undecided.append(arrival)
        self._validator.counters.reports += passed
        return undecided

    def _is_decided(
        self,
        arrival: ReportArrival,
        entry: FleetEntry | None,
        codes: CodesById,
        owners: OwnersByDevice,
    ) -> bool:
        """Decide by the validator."""
        sender, address, datagram, incoming = arrival
        validator, now, code = self._validator, self._now, None
        if incoming is None:
            incoming = validator.read(datagram, address_text(address), now)
            if incoming is None:
                return True
        if incoming.hello is not None:
            if entry is None and len(self.enrolled) >= self._room:
                self._take(arrival, validator.answer_busy(incoming), None, None)
                return True
            is_bound = entry is not None and name_of(incoming.hello) == entry.hashname
            if not is_bound and _lacks_code(incoming, codes):
                return False
            code = codes.get(incoming.code_id or b"")
            if entry is not None and not is_bound and self._may_rebind(incoming, code, owners):
                self._rebind(arrival, incoming, entry, code)
                return True
        # The validator changes it in place, and the one in the hot store must not change yet.
        own = None if entry is None else copied(entry)
        wish = self._wishes.get(sender)
        self._take(arrival, validator.receive(incoming, own, code, wish, now), code, wish)
        return True

    def _may_rebind(
        self, incoming: IncomingReport, code: EnrolmentCode | None, owners: OwnersByDevice
    ) -> bool:
        """True if an owner's code is for this sender, and no other owner has the device.

        The first to use an id has no right to it: only owners have.
        """
        hello = incoming.hello
        if hello is None or code is None or code.owner is None or incoming.kind != "router":
            return False
        is_free = owners.get(incoming.sender, code.owner) == code.owner
        return is_free and is_admitting(code, incoming, hello, name_of(hello), self._now)

    def _rebind(
        self,
        arrival: ReportArrival,
        incoming: IncomingReport,
        before: FleetEntry,
        code: EnrolmentCode | None,
    ) -> None:
        """Enrol as an unknown sender, in place of the one that has the id."""
        wish = self._wishes.get(incoming.sender)
        outcome = self._validator.receive(incoming, None, code, wish, self._now)
        if outcome.enrolled is not None and outcome.changed is not None:
            outcome.changed.version = before.version
            self.rebound.add(incoming.sender)
            detail = f"{before.hashname} is replaced by {outcome.changed.hashname}"
            event = SecurityEvent("rebound", incoming.sender, incoming.address, detail)
            outcome = msgspec.structs.replace(outcome, events=(*outcome.events, event))
        self._take(arrival, outcome, code, wish)

    def _take(
        self,
        arrival: ReportArrival,
        outcome: ReportOutcome,
        code: EnrolmentCode | None,
        wish: int | None,
    ) -> None:
        sender = arrival[0]
        if outcome.enrolled is not None:
            self._enrol(sender, outcome, code)
        if outcome.changed is not None:
            self.changed[sender] = outcome.changed
        if outcome.spool is not None:
            self.records.append(outcome.spool)
        if outcome.answer_durable:
            self.decided.append(arrival)
            self.answers.append(outcome.answer_durable)
            if wish is not None:  # a report that is proved is answered by the call as well
                self.called.add(wish)
        if outcome.answer_now:
            self.answers_now.append(outcome.answer_now)
            self.addresses_now.append(arrival[1])
        if outcome.events:
            self.events += outcome.events
            self.records += [_observation(event, self._now) for event in outcome.events]

    def calls(self) -> list[bytes]:
        """Records of calls, for the audit."""
        return [record for record in self.records if record[KIND_AT] == CALLED]

    def forget(self, sender: bytes) -> None:
        """Drop a sender that may not enrol after all."""
        del self.enrolled[sender]
        self.rebound.discard(sender)
        self.events = [event for event in self.events if not _is_rebinding(event, sender)]
        self.changed.pop(sender, None)
        self.records = [
            record for record in self.records if Observation.parse(record).sender != sender
        ]
        pairs = zip(self.decided, self.answers, strict=True)
        kept = [each for each in pairs if each[0][0] != sender]
        self.decided = [arrival for arrival, _ in kept]
        self.answers = [answer for _, answer in kept]

    def _enrol(self, sender: bytes, outcome: ReportOutcome, code: EnrolmentCode | None) -> None:
        assert outcome.enrolled is not None
        assert outcome.changed is not None
        self.records.append(outcome.enrolled)
        self.enrolled[sender] = outcome.changed
        if outcome.code is not None:
            assert code is not None
            self.redeemed[sender] = code


def _observation(event: SecurityEvent, now: float) -> bytes:
    """The observation for the lake, where events of all hubs are together."""
    content = msgspec.msgpack.encode(event)
    kind = observations.SECURITY
    return Observation(int(now * 1000), kind, event.sender, 0, 0, content).serialize()


def _is_rebinding(event: SecurityEvent, sender: bytes) -> bool:
    return event.kind == "rebound" and event.sender == sender


def _lacks_code(incoming: IncomingReport, codes: CodesById) -> bool:
    code = incoming.code_id
    return code is not None and code not in codes
