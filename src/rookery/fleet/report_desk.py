"""Report desk: where reports and hellos arrive at the hub. Decides; fetches and sends nothing.

    datagram ─read─▶ Incoming ─(entry, code, wish)─receive─▶ Outcome

The way of a good report is straight, and everything else turns off it early. Most of them do not
even come here: `lane` takes them as the desk would, for less.
"""

from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2s
from hmac import compare_digest

import msgspec

from rookery.errors import DecodeError
from rookery.fleet import desk_answers as answers
from rookery.fleet import entry as entries
from rookery.fleet import lineage, secrets
from rookery.fleet.alarms import Alarms
from rookery.fleet.code import Code
from rookery.fleet.desk_reader import DeskReader
from rookery.fleet.desk_settings import DeskCounters, DeskSettings
from rookery.fleet.enrolment import Enrolment, is_admitting
from rookery.fleet.entry import Entry
from rookery.fleet.hello_limiter import network
from rookery.fleet.lineage import LATE, NEW, STALE
from rookery.fleet.report_lane import ReportLane
from rookery.fleet.report_outcome import Incoming, Outcome
from rookery.fleet.secret_cache import SecretCache
from rookery.fleet.security_event import EventKind, SecurityEvent
from rookery.identity.cipher_set import RandomBytes
from rookery.identity.identity import Identity
from rookery.wire import observation as observations
from rookery.wire.fleet_datagrams import CALLED_SIZE, PROVED_FORM, Report
from rookery.wire.fleet_tags import AUDIT, LOAD, SESSION, TELEMETRY
from rookery.wire.observation import Observation

_OBSERVATION_KINDS = {
    TELEMETRY: observations.DEVICE,
    LOAD: observations.SERVER,
    AUDIT: observations.CALLED,
    SESSION: observations.SESSION,
}
# What they say is of the reporter itself; of the others something happened there.
_STATES = frozenset({TELEMETRY, LOAD})
_STATE_KINDS = frozenset(_OBSERVATION_KINDS[tag] for tag in _STATES)
_REPORTED = frozenset(_OBSERVATION_KINDS.values())


class ReportDesk:
    """One for a hub process; hubs with the same master and identity are the same to reporters."""

    __slots__ = ("_alarms", "_enrolment", "_renewal_s", "_secrets", "counters", "read")

    def __init__(
        self,
        identity: Identity,
        master: bytes,
        random: RandomBytes,
        now: float,
        settings: DeskSettings = DeskSettings(),  # noqa: B008 - frozen
    ) -> None:
        self.counters = DeskCounters()
        self._renewal_s = settings.renewal_s
        # Without a method in between: it is called for every datagram.
        self.read: Callable[[bytes, str, float], Incoming | None] = DeskReader(
            settings, self.counters, now
        ).read
        self._secrets = SecretCache(master, settings.secrets_max)
        self._alarms = Alarms(settings, self.counters, now)
        self._enrolment = Enrolment(
            identity, self._secrets, settings, self.counters, self._alarms, random, now
        )

    def receive(
        self,
        incoming: Incoming,
        entry: Entry | None,
        code: Code | None,
        wish: int | None,
        now: float,
    ) -> Outcome:
        """Decide; `entry` is changed in place. `code` is needed only where there is no entry."""
        report = incoming.report
        if report is None:
            assert incoming.hello is not None
            return self._enrolment.answer(incoming, incoming.hello, entry, code, now)
        if entry is None:
            return self._introduce(incoming, report, code, wish, now)
        if report.form != PROVED_FORM:
            return self._receive_plain(incoming, report, entry, wish, now)
        generation = report.generation
        kept = self._secrets.kept(entry, generation)
        prover = kept.prover if kept else self._secrets.prover(entry, generation)
        if not compare_digest(secrets.prove_by(prover, report.proved), report.proof):
            self.counters.forged += 1
            return self._refuse("forged", incoming, report, now)
        if generation != entry.generation:
            if generation < entry.generation:
                self.counters.old_secret += 1
                return self._refuse("old secret", incoming, report, now)
            # One renewal ahead is another hub's clock, or ours set back; more is a mistake that
            # would keep this reporter from being renewed for as long.
            if generation > max(now, entry.generation) + self._renewal_s:
                self.counters.ahead += 1
                return Outcome(answers.unknown(report))
        if kept is None:
            self._secrets.keep(entry, generation, prover)
        return self._accept(incoming, report, entry, generation, prover, wish, now)

    def put_off(self, incoming: Incoming) -> Outcome:
        """The registry has no room for this stranger: nothing is looked up, sealed or kept."""
        assert incoming.hello is not None
        return self._enrolment.put_off(incoming.hello)

    def lane(self, address_text: Callable[[bytes], str], now: float) -> ReportLane:
        """For the reports of a batch; what passes there does not come here."""
        return ReportLane(self._secrets, self._renewal_s, address_text, now)

    def undo(self, incoming: Incoming, entry: Entry) -> None:
        """The spool did not take a new report: it must be able to come again."""
        assert incoming.report is not None
        lineage.undo(entry, incoming.report.boot, incoming.report.sequence)

    def restore(self, observation: Observation, entry: Entry | None) -> Entry | None:
        """The entry with what an observation says of it, to read the spool again after a crash."""
        if observation.kind == observations.ENROLLED and entry is None:
            with suppress(DecodeError):  # of another version; it will say hello
                return entries.decode(observation.content)
        if entry is None or observation.kind not in _REPORTED:
            return entry
        if lineage.take(entry, observation.boot, observation.sequence) == NEW:
            entry.last_seen = max(entry.last_seen, observation.received_ms / 1000)
            if observation.kind in _STATE_KINDS:
                entry.content = observation.content
        return entry

    def is_claimed(self, entry: Entry, typed: str, now: float) -> bool:
        """Whether `typed` is the claim code that the router's agent shows."""
        newest = secrets.generation(entry.reporter, now, self._renewal_s)
        return any(
            secrets.is_claim_code(
                self._secrets.derive(entry.reporter, entry.hashname, generation), typed
            )
            for generation in (entry.generation, max(newest, entry.generation))
        )

    def _accept(
        self,
        incoming: Incoming,
        report: Report,
        entry: Entry,
        generation: int,
        prover: blake2s,
        wish: int | None,
        now: float,
    ) -> Outcome:
        """A report that is proved; whether it is new remains to be seen."""
        verdict = lineage.take(entry, report.boot, report.sequence)
        is_raised = generation > entry.generation
        if is_raised:
            entry.generation = generation
            if verdict == STALE:
                # Only its key opened the newer secret: whoever used an older one to move the
                # lineage ahead has no hold on it any more.
                lineage.begin(entry, report.boot, report.sequence)
                verdict = NEW
        if verdict == STALE:
            return self._refuse_stale(incoming, report, entry, prover, now)
        if verdict != NEW:
            again = self._accept_again(verdict, incoming, report, entry, prover, wish, now)
            return msgspec.structs.replace(again, changed=entry) if is_raised else again
        self.counters.reports += 1
        tag, content = report.tag, report.content
        entry.last_seen = now
        entry.address = incoming.address
        if tag in _STATES:
            entry.content = content
        record = observations.HEAD.pack(
            int(now * 1000), _OBSERVATION_KINDS[tag], report.reporter, report.boot, report.sequence
        )
        answer, durable = b"", answers.ack(report, prover)
        if wish is not None:
            # Twice: once it is acknowledged, the report does not come again to ask for it.
            answer = answers.call(report, prover, wish)
            durable += answer
        if now >= generation + self._renewal_s:
            answer += self._enrolment.renew(entry, report, now)
        return Outcome(answer, durable, entry, record + content)

    def _accept_again(
        self,
        verdict: int,
        incoming: Incoming,
        report: Report,
        entry: Entry,
        prover: blake2s,
        wish: int | None,
        now: float,
    ) -> Outcome:
        """Came before, or may have: no sign of life, for anybody can have recorded it."""
        events: tuple[SecurityEvent, ...] = ()
        if verdict == LATE or network(incoming.address) != network(entry.address):
            self.counters.replays += 1
            events = self._alarms.sound("replay", report.reporter, incoming.address, now)
        if verdict == LATE:
            self.counters.late += 1
            return Outcome(events=events)
        self.counters.repeats += 1
        # The address may be forged, so the answers together are not larger than what came.
        durable = answers.ack(report, prover)
        if wish is not None and incoming.size >= CALLED_SIZE:
            durable += answers.call(report, prover, wish)
        return Outcome(b"", durable, events=events)

    def _refuse_stale(
        self, incoming: Incoming, report: Report, entry: Entry, prover: blake2s, now: float
    ) -> Outcome:
        self.counters.stale += 1
        is_struck = report.boot == entry.previous
        events: tuple[SecurityEvent, ...] = ()
        if lineage.is_clone(entry, report.boot, now):
            self.counters.clones += 1
            events = self._alarms.sound("clone", report.reporter, incoming.address, now)
        changed = entry if is_struck else None
        return Outcome(answers.stale(report, prover, entry.boot), b"", changed, events=events)

    def _receive_plain(
        self, incoming: Incoming, report: Report, entry: Entry, wish: int | None, now: float
    ) -> Outcome:
        """The secret itself: it does not say which one, so those are tried that may be in use."""
        newest = secrets.generation(entry.reporter, now, self._renewal_s)
        for generation in (entry.generation, newest, newest - self._renewal_s):
            if generation < entry.generation:
                continue
            secret = self._secrets.derive(entry.reporter, entry.hashname, generation)
            if compare_digest(secret, report.proof):
                prover = secrets.prover(secret)
                return self._accept(incoming, report, entry, generation, prover, wish, now)
        self.counters.forged += 1
        return self._refuse("forged", incoming, report, now)

    def _introduce(
        self, incoming: Incoming, report: Report, code: Code | None, wish: int | None, now: float
    ) -> Outcome:
        """An unknown reporter: with a hello beside its proved report it becomes known."""
        hello = incoming.hello
        if hello is None:
            self.counters.unknown += 1
            return Outcome(answers.unknown(report))
        entry = self._enrolment.introduce(incoming, hello, code, now)
        if isinstance(entry, Outcome):
            return entry
        outcome = self.receive(incoming, entry, None, wish, now)
        if outcome.changed is None:
            return outcome
        self.counters.enrolled += 1
        record = Observation(
            int(now * 1000), observations.ENROLLED, entry.reporter, 0, 0, entries.encode(entry)
        )
        is_used = code is not None and is_admitting(code, incoming, hello, entry.hashname, now)
        return msgspec.structs.replace(
            outcome,
            enrolled=record.serialize(),
            code=hello.code_id if is_used else None,
        )

    def _refuse(self, kind: EventKind, incoming: Incoming, report: Report, now: float) -> Outcome:
        """Not taken; an honest reporter says hello and is known again."""
        events = self._alarms.sound(kind, report.reporter, incoming.address, now)
        return Outcome(answers.unknown(report), events=events)
