"""Decisions on a batch of arrivals, each on top of the one before; nothing is kept yet."""

from collections.abc import Callable
from operator import methodcaller

from rookery.fleet.code import Code
from rookery.fleet.entry import Entry
from rookery.fleet.report_desk import ReportDesk
from rookery.fleet.security_event import SecurityEvent
from rookery.hub.datagram_port import Datagram
from rookery.hub.report_group import Arrival, Decided
from rookery.wire.observation import Observation

_copy: Callable[[Entry], Entry] = methodcaller("__copy__")  # a third of what copy.copy takes

Codes = dict[bytes, Code | None]  # by id; None: there is none


class ReportBatch:
    """Entries and open wishes of all who are in it are known when it is made."""

    def __init__(
        self,
        desk: ReportDesk,
        known: dict[bytes, Entry | None],
        wishes: dict[bytes, int | None],
        now: float,
    ) -> None:
        self._desk = desk
        self._known = known
        self._wishes = wishes
        self._now = now
        self.records: list[bytes] = []  # for the spool
        self.changed: dict[bytes, Entry] = {}
        self.decided: list[Decided] = []
        self.enrolled: dict[bytes, Entry] = {}
        self.redeemed: dict[bytes, Code] = {}  # of those enrolled, who needs a code for it
        self.answers: list[Datagram] = []  # that need no disk
        self.events: list[SecurityEvent] = []
        self.called: set[int] = set()  # wishes that routers were told of

    def lacks_code(self, arrival: Arrival, codes: Codes) -> bool:
        """Whether it cannot be decided before a code is looked up."""
        incoming, _ = arrival
        if incoming.hello is None or self._known[incoming.reporter] is not None:
            return False
        code = incoming.code_id
        return code is not None and code not in codes

    def decide(self, arrival: Arrival, codes: Codes) -> None:
        """What the desk says, and what is to be done about it."""
        incoming, address = arrival
        reporter = incoming.reporter
        entry, wish = self._known[reporter], self._wishes[reporter]
        code = None if incoming.hello is None else codes.get(incoming.code_id or b"")
        # The desk changes it in place, and the one in the hot store must not change yet.
        copied = None if entry is None else _copy(entry)
        outcome = self._desk.receive(incoming, copied, code, wish, self._now)
        changed = outcome.changed
        if changed is not None:
            self._known[reporter] = self.changed[reporter] = changed
        if outcome.enrolled is not None:
            assert changed is not None
            self._enrol(reporter, changed, outcome.enrolled, code if outcome.code else None)
        if outcome.spool is not None:
            self.records.append(outcome.spool)
        if outcome.answer_durable:
            self.decided.append((arrival, outcome.answer_durable))
        if outcome.answer_now:
            self.answers.append((outcome.answer_now, address))
            if wish is not None and outcome.answer_durable:
                self.called.add(wish)
        if outcome.events:
            self.events += outcome.events

    def forget(self, reporter: bytes) -> None:
        """A reporter that may not enrol after all."""
        del self.enrolled[reporter]
        self.changed.pop(reporter, None)
        self.records = [
            record for record in self.records if Observation.parse(record).reporter != reporter
        ]
        self.decided = [each for each in self.decided if each[0][0].reporter != reporter]

    def _enrol(self, reporter: bytes, entry: Entry, record: bytes, code: Code | None) -> None:
        self.records.append(record)
        self.enrolled[reporter] = entry
        if code is not None:
            self.redeemed[reporter] = code
