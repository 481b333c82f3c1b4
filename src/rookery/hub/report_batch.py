"""Decisions on a batch of arrivals, each on top of the one before; nothing is kept yet."""

from collections.abc import Callable
from operator import methodcaller

import msgspec

from rookery.fleet.code import Code
from rookery.fleet.entry import Entry
from rookery.fleet.report_desk import ReportDesk
from rookery.fleet.report_outcome import Incoming, Outcome
from rookery.fleet.security_event import SecurityEvent
from rookery.hub.datagram_port import Datagram
from rookery.hub.report_group import Arrival, Decided
from rookery.wire import observation as observations
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

    def decide(self, arrivals: list[Arrival], codes: Codes) -> list[Arrival]:
        """What the desk says to each; those that cannot be decided without a look for their code.

        One loop with everything at hand: it is run for every report.
        """
        receive, known, wishes, now = self._desk.receive, self._known, self._wishes, self._now
        changes, records, decided = self.changed, self.records, self.decided
        undecided: list[Arrival] = []
        for arrival in arrivals:
            incoming, address = arrival
            reporter, code = incoming.reporter, None
            entry = known[reporter]
            if incoming.hello is not None:
                if entry is None and _lacks_code(incoming, codes):
                    undecided.append(arrival)
                    continue
                code = codes.get(incoming.code_id or b"")
            # The desk changes it in place, and the one in the hot store must not change yet.
            copied = None if entry is None else _copy(entry)
            wish = wishes[reporter]
            outcome = receive(incoming, copied, code, wish, now)
            if outcome.enrolled is not None:
                self._enrol(reporter, outcome, code)
            if outcome.changed is not None:
                known[reporter] = changes[reporter] = outcome.changed
            if outcome.spool is not None:
                records.append(outcome.spool)
            if outcome.answer_durable:
                decided.append((arrival, outcome.answer_durable))
                if wish is not None:  # a report that is proved is answered by the call as well
                    self.called.add(wish)
            if outcome.answer_now:
                self.answers.append((outcome.answer_now, address))
            if outcome.events:
                self.events += outcome.events
                records += [_observation(event, now) for event in outcome.events]
        return undecided

    def forget(self, reporter: bytes) -> None:
        """A reporter that may not enrol after all."""
        del self.enrolled[reporter]
        self.changed.pop(reporter, None)
        self.records = [
            record for record in self.records if Observation.parse(record).reporter != reporter
        ]
        self.decided = [each for each in self.decided if each[0][0].reporter != reporter]

    def _enrol(self, reporter: bytes, outcome: Outcome, code: Code | None) -> None:
        assert outcome.enrolled is not None
        assert outcome.changed is not None
        self.records.append(outcome.enrolled)
        self.enrolled[reporter] = outcome.changed
        if outcome.code is not None:
            assert code is not None
            self.redeemed[reporter] = code


def _observation(event: SecurityEvent, now: float) -> bytes:
    """For the lake: who watches a fleet looks there, and not into every hub's audit."""
    content = msgspec.msgpack.encode(event)
    kind = observations.SECURITY
    return Observation(int(now * 1000), kind, event.reporter, 0, 0, content).serialize()


def _lacks_code(incoming: Incoming, codes: Codes) -> bool:
    code = incoming.code_id
    return code is not None and code not in codes
