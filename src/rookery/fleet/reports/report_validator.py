"""Report validator: decides about reports and hellos at the hub, without I/O.

    datagram ─read─▶ IncomingReport ─(entry, code, wish)─receive─▶ ReportOutcome

The caller fetches entry, code and wish, and carries out the outcome. Most reports do not come here:
`fast_path` decides the common case as this class would, at less cost.
"""

from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2s
from hmac import compare_digest

import msgspec

from rookery.errors import DecodeError
from rookery.fleet import entry as entries
from rookery.fleet.enrolment import secrets
from rookery.fleet.enrolment.code import EnrolmentCode
from rookery.fleet.enrolment.enrolment import Enrolment, is_admitting
from rookery.fleet.enrolment.secret_cache import SecretCache
from rookery.fleet.enrolment.secrets import prove_by
from rookery.fleet.entry import FleetEntry
from rookery.fleet.reports import replay_window
from rookery.fleet.reports.rate_limits import network
from rookery.fleet.reports.replay_window import LATE, NEW
from rookery.fleet.reports.report_fast_path import ReportFastPath
from rookery.fleet.reports.report_outcome import IncomingReport, ReportOutcome
from rookery.fleet.reports.report_reader import ReportReader
from rookery.fleet.reports.security_events import (
    SecurityEvent,
    SecurityEventKind,
    SecurityEventLimiter,
)
from rookery.fleet.reports.validator_settings import (
    ReportValidatorCounters,
    ReportValidatorSettings,
)
from rookery.identity.cipher_set import RandomBytes
from rookery.identity.identity import Identity
from rookery.wire import observation as observations
from rookery.wire.fleet.datagrams import (
    CALLED_SIZE,
    PROVED_FORM,
    STALE,
    UNKNOWN,
    CallDatagram,
    FaultDatagram,
    ReportDatagram,
    ack_proved,
    serialize_ack,
)
from rookery.wire.fleet.tags import AUDIT, LOAD, SESSION, TELEMETRY
from rookery.wire.observation import Observation


def ack_answer(report: ReportDatagram, prover: blake2s) -> bytes:
    """ACK: the report is durable."""
    proved = ack_proved(report.sender, report.boot, report.sequence)
    return serialize_ack(proved, prove_by(prover, proved))


def call_answer(report: ReportDatagram, prover: blake2s, wish: int) -> bytes:
    """CALL: a client wishes to talk to the device."""
    bare = CallDatagram(report.sender, report.boot, report.sequence, wish)
    return bare._replace(proof=prove_by(prover, bare.proved)).serialize()


def stale_answer(report: ReportDatagram, prover: blake2s, boot: int) -> bytes:
    """STALE: the hub knows this newer boot."""
    bare = FaultDatagram(STALE, report.sender, boot, report.sequence)
    return bare._replace(proof=prove_by(prover, bare.proved)).serialize()


def unknown_answer(report: ReportDatagram) -> bytes:
    """UNKNOWN: say hello. Not proved, as there is no secret to prove it with."""
    return FaultDatagram(UNKNOWN, report.sender, report.boot, report.sequence).serialize()


_OBSERVATION_KINDS = {
    TELEMETRY: observations.DEVICE,
    LOAD: observations.SERVER,
    AUDIT: observations.CALLED,
    SESSION: observations.SESSION,
}
# State of the sender itself; the other reports are about events there.
_STATES = frozenset({TELEMETRY, LOAD})
_STATE_KINDS = frozenset(_OBSERVATION_KINDS[tag] for tag in _STATES)
_REPORTED = frozenset(_OBSERVATION_KINDS.values())


class ReportValidator:
    """One per hub process; hubs with the same master secret and identity are interchangeable."""

    __slots__ = ("_enrolment", "_renewal_s", "_secrets", "_security_events", "counters", "read")

    def __init__(
        self,
        identity: Identity,
        master: bytes,
        random: RandomBytes,
        now: float,
        settings: ReportValidatorSettings = ReportValidatorSettings(),  # noqa: B008 - frozen
    ) -> None:
        self.counters = ReportValidatorCounters()
        self._renewal_s = settings.renewal_s
        # Bound directly, without a method in between, as it is called for every datagram.
        self.read: Callable[[bytes, str, float], IncomingReport | None] = ReportReader(
            settings, self.counters, now
        ).read
        self._secrets = SecretCache(master, settings.secrets_max)
        self._security_events = SecurityEventLimiter(settings, self.counters, now)
        self._enrolment = Enrolment(
            identity, self._secrets, settings, self.counters, self._security_events, random, now
        )

    def receive(
        self,
        incoming: IncomingReport,
        entry: FleetEntry | None,
        code: EnrolmentCode | None,
        wish: int | None,
        now: float,
    ) -> ReportOutcome:
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
            # would keep this sender from being renewed for as long.
            if generation > max(now, entry.generation) + self._renewal_s:
                self.counters.ahead += 1
                return ReportOutcome(unknown_answer(report))
        if kept is None:
            self._secrets.keep(entry, generation, prover)
        return self._accept(incoming, report, entry, generation, prover, wish, now)

    def answer_busy(self, incoming: IncomingReport) -> ReportOutcome:
        """The registry has no room for a new sender: answer BUSY and look nothing up."""
        assert incoming.hello is not None
        return self._enrolment.answer_busy(incoming.hello)

    def fast_path(self, address_text: Callable[[bytes], str], now: float) -> ReportFastPath:
        """The fast path for the reports of one batch; reports it takes need no `receive`."""
        return ReportFastPath(self._secrets, self._renewal_s, address_text, now)

    def restore(self, observation: Observation, entry: FleetEntry | None) -> FleetEntry | None:
        """Apply an observation to an entry, to replay the spool after a crash."""
        if observation.kind == observations.ENROLLED and entry is None:
            with suppress(DecodeError):  # of another version; it will say hello
                return entries.decode(observation.content)
        if entry is None or observation.kind not in _REPORTED:
            return entry
        if replay_window.take(entry, observation.boot, observation.sequence) == NEW:
            entry.last_seen = max(entry.last_seen, observation.received_ms / 1000)
            if observation.kind in _STATE_KINDS:
                entry.content = observation.content
        return entry

    def is_claimed(self, entry: FleetEntry, typed: str, now: float) -> bool:
        """Whether `typed` is the claim code that the device's agent shows."""
        newest = secrets.generation(entry.sender, now, self._renewal_s)
        return any(
            secrets.is_claim_code(
                self._secrets.derive(entry.sender, entry.hashname, generation), typed
            )
            for generation in (entry.generation, max(newest, entry.generation))
        )

    def _accept(
        self,
        incoming: IncomingReport,
        report: ReportDatagram,
        entry: FleetEntry,
        generation: int,
        prover: blake2s,
        wish: int | None,
        now: float,
    ) -> ReportOutcome:
        """A report that is proved: accept it if it is new."""
        freshness = replay_window.take(entry, report.boot, report.sequence)
        is_raised = generation > entry.generation
        if is_raised:
            entry.generation = generation
            if freshness == replay_window.STALE:
                # Only its key opened the newer secret: a holder of an older one who
                # moved the replay window ahead has no effect any more.
                replay_window.begin(entry, report.boot, report.sequence)
                freshness = NEW
        if freshness == replay_window.STALE:
            return self._refuse_stale(incoming, report, entry, prover, now)
        if freshness != NEW:
            again = self._accept_again(freshness, incoming, report, entry, prover, wish, now)
            return msgspec.structs.replace(again, changed=entry) if is_raised else again
        self.counters.reports += 1
        tag, content = report.tag, report.content
        entry.last_seen = now
        entry.address = incoming.address
        if tag in _STATES:
            entry.content = content
        record = observations.HEAD.pack(
            int(now * 1000), _OBSERVATION_KINDS[tag], report.sender, report.boot, report.sequence
        )
        answer, durable = b"", ack_answer(report, prover)
        if wish is not None:
            # Sent twice, now and with the ACK: an acknowledged report is not repeated.
            answer = call_answer(report, prover, wish)
            durable += answer
        if now >= generation + self._renewal_s:
            answer += self._enrolment.renew(entry, report, now)
        return ReportOutcome(answer, durable, entry, record + content)

    def _accept_again(
        self,
        freshness: int,
        incoming: IncomingReport,
        report: ReportDatagram,
        entry: FleetEntry,
        prover: blake2s,
        wish: int | None,
        now: float,
    ) -> ReportOutcome:
        """A repeat, or too old to tell: may be a replay, so it does not count as a sign of life."""
        events: tuple[SecurityEvent, ...] = ()
        if freshness == LATE or network(incoming.address) != network(entry.address):
            self.counters.replays += 1
            events = self._security_events.report("replay", report.sender, incoming.address, now)
        if freshness == LATE:
            self.counters.late += 1
            return ReportOutcome(events=events)
        self.counters.repeats += 1
        # The address may be forged, so the answers together are not larger than what came.
        durable = ack_answer(report, prover)
        if wish is not None and incoming.size >= CALLED_SIZE:
            durable += call_answer(report, prover, wish)
        return ReportOutcome(b"", durable, events=events)

    def _refuse_stale(
        self,
        incoming: IncomingReport,
        report: ReportDatagram,
        entry: FleetEntry,
        prover: blake2s,
        now: float,
    ) -> ReportOutcome:
        self.counters.stale += 1
        is_struck = report.boot == entry.previous
        events: tuple[SecurityEvent, ...] = ()
        if replay_window.is_clone(entry, report.boot, now):
            self.counters.clones += 1
            events = self._security_events.report("clone", report.sender, incoming.address, now)
        changed = entry if is_struck else None
        return ReportOutcome(stale_answer(report, prover, entry.boot), b"", changed, events=events)

    def _receive_plain(
        self,
        incoming: IncomingReport,
        report: ReportDatagram,
        entry: FleetEntry,
        wish: int | None,
        now: float,
    ) -> ReportOutcome:
        """A report with the secret itself, without its generation: try those that may be in use."""
        newest = secrets.generation(entry.sender, now, self._renewal_s)
        for generation in (entry.generation, newest, newest - self._renewal_s):
            if generation < entry.generation:
                continue
            secret = self._secrets.derive(entry.sender, entry.hashname, generation)
            if compare_digest(secret, report.proof):
                prover = secrets.prover(secret)
                return self._accept(incoming, report, entry, generation, prover, wish, now)
        self.counters.forged += 1
        return self._refuse("forged", incoming, report, now)

    def _introduce(
        self,
        incoming: IncomingReport,
        report: ReportDatagram,
        code: EnrolmentCode | None,
        wish: int | None,
        now: float,
    ) -> ReportOutcome:
        """Enrol an unknown sender whose datagram has a hello and a proved report."""
        hello = incoming.hello
        if hello is None:
            self.counters.unknown += 1
            return ReportOutcome(unknown_answer(report))
        entry = self._enrolment.introduce(incoming, hello, code, now)
        if isinstance(entry, ReportOutcome):
            return entry
        outcome = self.receive(incoming, entry, None, wish, now)
        if outcome.changed is None:
            return outcome
        self.counters.enrolled += 1
        record = Observation(
            int(now * 1000), observations.ENROLLED, entry.sender, 0, 0, entries.encode(entry)
        )
        is_used = code is not None and is_admitting(code, incoming, hello, entry.hashname, now)
        return msgspec.structs.replace(
            outcome,
            enrolled=record.serialize(),
            code=hello.code_id if is_used else None,
        )

    def _refuse(
        self, kind: SecurityEventKind, incoming: IncomingReport, report: ReportDatagram, now: float
    ) -> ReportOutcome:
        """Refuse a report; an honest sender then says hello and gets a new secret."""
        events = self._security_events.report(kind, report.sender, incoming.address, now)
        return ReportOutcome(unknown_answer(report), events=events)
