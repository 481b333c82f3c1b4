"""Enrolment: which senders get a secret, and how an unknown sender becomes a known one.

    hello ──▶ SECRET, sealed to its key ──▶ hello with a report, proved with the secret ──▶ entry

The hub keeps no state between the two: a secret can be derived again, and a sender that proves it
was admitted and holds the key.
"""

from struct import Struct

from rookery.errors import RemoteError
from rookery.fleet.enrolment import secrets
from rookery.fleet.enrolment.code import EnrolmentCode
from rookery.fleet.enrolment.secret_cache import SecretCache
from rookery.fleet.entry import FleetEntry
from rookery.fleet.reports.report_outcome import IncomingReport, ReportOutcome
from rookery.fleet.reports.security_events import SecurityEventLimiter
from rookery.fleet.reports.validator_settings import (
    ReportValidatorCounters,
    ReportValidatorSettings,
)
from rookery.identity import cs40
from rookery.identity.cipher_set import RandomBytes
from rookery.identity.cipher_sets import RSA_CSID
from rookery.identity.hashname import hashname
from rookery.identity.identity import Identity
from rookery.link.token_bucket import TokenBucket
from rookery.wire.fleet import tlv
from rookery.wire.fleet.datagrams import (
    BUSY,
    DENIED,
    FaultDatagram,
    HelloDatagram,
    IssuedSecret,
    ReportDatagram,
    SealedSecret,
)
from rookery.wire.fleet.tags import SECRET

_NONCE = Struct(">Q")


class Enrolment:
    """The part of the report validator that knows policy, codes and keys."""

    __slots__ = (
        "_counters",
        "_known",
        "_local",
        "_random",
        "_renewals",
        "_secrets",
        "_security_events",
        "_settings",
        "_strangers",
    )

    def __init__(
        self,
        identity: Identity,
        cache: SecretCache,
        settings: ReportValidatorSettings,
        counters: ReportValidatorCounters,
        security_events: SecurityEventLimiter,
        random: RandomBytes,
        now: float,
    ) -> None:
        self._local = identity.local[cs40.CSID]
        self._secrets = cache
        self._settings = settings
        self._counters = counters
        self._security_events = security_events
        self._random = random
        self._strangers = _allowance(settings.stranger_rate, now)
        self._known = _allowance(settings.known_rate, now)
        self._renewals = _allowance(settings.renewal_rate, now)

    def answer(
        self,
        incoming: IncomingReport,
        hello: HelloDatagram,
        entry: FleetEntry | None,
        code: EnrolmentCode | None,
        now: float,
    ) -> ReportOutcome:
        """Answer a hello without a report: a secret, if the policy admits the sender."""
        name = name_of(hello)
        generation = secrets.generation(hello.sender, now, self._settings.renewal_s)
        if entry is None:
            if not self._admits(incoming, hello, name, code, now):
                return self._deny(incoming, hello, now)
            allowance = self._strangers
        elif entry.hashname != name:
            return self._refuse_foreign(incoming, hello, name, now)
        else:
            generation = max(generation, entry.generation)
            allowance = self._known
        if not allowance.take(1.0, now):
            return self.answer_busy(hello)
        secret = self._secrets.derive(hello.sender, name, generation)
        try:
            sealed = self._seal(
                hello.sender,
                hello.key,
                IssuedSecret(generation, secret, hello.nonce, int(now * 1000)),
            )
        except RemoteError:  # not a usable key
            self._counters.malformed += 1
            return ReportOutcome()
        self._counters.hellos += 1
        return ReportOutcome(sealed)

    def answer_busy(self, hello: HelloDatagram) -> ReportOutcome:
        """There is no room: answer BUSY; the sender retries later."""
        self._counters.busy += 1
        return ReportOutcome(_fault(BUSY, hello))

    def introduce(
        self, incoming: IncomingReport, hello: HelloDatagram, code: EnrolmentCode | None, now: float
    ) -> FleetEntry | ReportOutcome:
        """An entry for an unknown sender whose report is proved; otherwise the answer to send."""
        name = name_of(hello)
        if not self._admits(incoming, hello, name, code, now):
            return self._deny(incoming, hello, now)
        # The hello was just answered with a new secret, so an old one cannot be this sender's.
        newest = secrets.generation(hello.sender, now, self._settings.renewal_s)
        return FleetEntry(
            sender=hello.sender,
            kind=incoming.kind,
            hashname=name,
            key=hello.key,
            digest=hello.digest,
            generation=max(0, newest - self._settings.renewal_s),
            boot=0,
            sequence=0,
            window=0,
            first_seen=now,
            last_seen=now,
        )

    def renew(self, entry: FleetEntry, report: ReportDatagram, now: float) -> bytes:
        """The newest secret for a sender that used an older one; empty beyond the rate limit."""
        if not self._renewals.take(1.0, now):
            self._counters.renewals_put_off += 1  # the old one is good until the next time
            return b""
        self._counters.renewals += 1
        newest = secrets.generation(entry.sender, now, self._settings.renewal_s)
        secret = self._secrets.derive(entry.sender, entry.hashname, newest)
        nonce = _NONCE.pack(report.sequence)
        return self._seal(
            entry.sender, entry.key, IssuedSecret(newest, secret, nonce, int(now * 1000))
        )

    def _admits(
        self,
        incoming: IncomingReport,
        hello: HelloDatagram,
        name: str,
        code: EnrolmentCode | None,
        now: float,
    ) -> bool:
        if incoming.kind == "router" and self._settings.policy == "open":
            return True
        return code is not None and is_admitting(code, incoming, hello, name, now)

    def _deny(self, incoming: IncomingReport, hello: HelloDatagram, now: float) -> ReportOutcome:
        self._counters.denied += 1
        events = self._security_events.report(
            "denied", hello.sender, incoming.address, now, incoming.kind
        )
        return ReportOutcome(_fault(DENIED, hello), events=events)

    def _refuse_foreign(
        self, incoming: IncomingReport, hello: HelloDatagram, name: str, now: float
    ) -> ReportOutcome:
        self._counters.foreign_key += 1
        events = self._security_events.report(
            "foreign key", hello.sender, incoming.address, now, name
        )
        return ReportOutcome(_fault(DENIED, hello), events=events)

    def _seal(self, sender: bytes, key: bytes, issue: IssuedSecret) -> bytes:
        sealed = self._local.exchange(key, self._random).seal(issue.serialize())
        return tlv.serialize(SECRET, SealedSecret(sender, sealed).serialize())


def name_of(hello: HelloDatagram) -> str:
    """The hashname of the keys in it."""
    return hashname({cs40.CSID: hello.key}, {RSA_CSID: hello.digest})


def is_admitting(
    code: EnrolmentCode, incoming: IncomingReport, hello: HelloDatagram, name: str, now: float
) -> bool:
    """True if the code is for that sender and the hello proves knowledge of it."""
    return code.admits(incoming.kind, name, now) and secrets.is_code_proved(
        code.key, hello.proved, hello.code_proof
    )


def _allowance(rate: float, now: float) -> TokenBucket:
    return TokenBucket(rate, rate, now)


def _fault(code: int, hello: HelloDatagram) -> bytes:
    (nonce,) = _NONCE.unpack(hello.nonce)
    return FaultDatagram(code, hello.sender, 0, nonce).serialize()
