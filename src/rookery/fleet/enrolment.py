"""Enrolment: who gets a secret, and how an unknown reporter becomes a known one.

    hello ──▶ SECRET, sealed to its key ──▶ hello with a report, proved with the secret ──▶ entry

The hub remembers nothing between the two: a secret can be derived again, and who proves one has
been let in, and holds the key.
"""

from struct import Struct

from rookery.errors import RemoteError
from rookery.fleet import secrets
from rookery.fleet.alarms import Alarms
from rookery.fleet.allowance import Allowance
from rookery.fleet.code import Code
from rookery.fleet.desk_settings import DeskCounters, DeskSettings
from rookery.fleet.entry import Entry
from rookery.fleet.report_outcome import Incoming, Outcome
from rookery.fleet.secret_cache import SecretCache
from rookery.identity import cs40
from rookery.identity.cipher_set import RandomBytes
from rookery.identity.cipher_sets import RSA_CSID
from rookery.identity.hashname import hashname
from rookery.identity.identity import Identity
from rookery.wire import tlv
from rookery.wire.fleet_datagrams import (
    BUSY,
    DENIED,
    Fault,
    Hello,
    Issue,
    Report,
    SealedSecret,
)
from rookery.wire.fleet_tags import SECRET

_NONCE = Struct(">Q")


class Enrolment:
    """The part of the report desk that knows policy, codes and keys."""

    __slots__ = (
        "_alarms",
        "_counters",
        "_known",
        "_local",
        "_random",
        "_renewals",
        "_secrets",
        "_settings",
        "_strangers",
    )

    def __init__(
        self,
        identity: Identity,
        cache: SecretCache,
        settings: DeskSettings,
        counters: DeskCounters,
        alarms: Alarms,
        random: RandomBytes,
        now: float,
    ) -> None:
        self._local = identity.local[cs40.CSID]
        self._secrets = cache
        self._settings = settings
        self._counters = counters
        self._alarms = alarms
        self._random = random
        self._strangers = _allowance(settings.stranger_rate, now)
        self._known = _allowance(settings.known_rate, now)
        self._renewals = _allowance(settings.renewal_rate, now)

    def answer(
        self, incoming: Incoming, hello: Hello, entry: Entry | None, code: Code | None, now: float
    ) -> Outcome:
        """To a hello alone: a secret, if the policy has nothing against it."""
        name = name_of(hello)
        generation = secrets.generation(hello.reporter, now, self._settings.renewal_s)
        if entry is None:
            if not self._admits(incoming, hello, name, code, now):
                return self._deny(incoming, hello, now)
            allowance = self._strangers
        elif entry.hashname != name:
            return self._refuse_foreign(incoming, hello, name, now)
        else:
            generation = max(generation, entry.generation)
            allowance = self._known
        if not allowance.take(now):
            return self.put_off(hello)
        secret = self._secrets.derive(hello.reporter, name, generation)
        try:
            sealed = self._seal(
                hello.reporter, hello.key, Issue(generation, secret, hello.nonce, int(now * 1000))
            )
        except RemoteError:  # a key that nothing can be sealed to
            self._counters.malformed += 1
            return Outcome()
        self._counters.hellos += 1
        return Outcome(sealed)

    def put_off(self, hello: Hello) -> Outcome:
        """There is no room now; it asks again later."""
        self._counters.busy += 1
        return Outcome(_fault(BUSY, hello))

    def introduce(
        self, incoming: Incoming, hello: Hello, code: Code | None, now: float
    ) -> Entry | Outcome:
        """An entry for an unknown reporter, if its report is proved; or why there is none."""
        name = name_of(hello)
        if not self._admits(incoming, hello, name, code, now):
            return self._deny(incoming, hello, now)
        # A hello came just before, so an old secret is somebody else's.
        newest = secrets.generation(hello.reporter, now, self._settings.renewal_s)
        return Entry(
            reporter=hello.reporter,
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

    def renew(self, entry: Entry, report: Report, now: float) -> bytes:
        """The newest secret in answer to a report that was proved with an older one, or nothing."""
        if not self._renewals.take(now):
            self._counters.renewals_put_off += 1  # the old one is good until the next time
            return b""
        self._counters.renewals += 1
        newest = secrets.generation(entry.reporter, now, self._settings.renewal_s)
        secret = self._secrets.derive(entry.reporter, entry.hashname, newest)
        nonce = _NONCE.pack(report.sequence)
        return self._seal(entry.reporter, entry.key, Issue(newest, secret, nonce, int(now * 1000)))

    def _admits(
        self, incoming: Incoming, hello: Hello, name: str, code: Code | None, now: float
    ) -> bool:
        if incoming.kind == "router" and self._settings.policy == "open":
            return True
        return code is not None and is_admitting(code, incoming, hello, name, now)

    def _deny(self, incoming: Incoming, hello: Hello, now: float) -> Outcome:
        self._counters.denied += 1
        events = self._alarms.sound("denied", hello.reporter, incoming.address, now, incoming.kind)
        return Outcome(_fault(DENIED, hello), events=events)

    def _refuse_foreign(self, incoming: Incoming, hello: Hello, name: str, now: float) -> Outcome:
        self._counters.foreign_key += 1
        events = self._alarms.sound("foreign key", hello.reporter, incoming.address, now, name)
        return Outcome(_fault(DENIED, hello), events=events)

    def _seal(self, reporter: bytes, key: bytes, issue: Issue) -> bytes:
        sealed = self._local.exchange(key, self._random).seal(issue.serialize())
        return tlv.serialize(SECRET, SealedSecret(reporter, sealed).serialize())


def name_of(hello: Hello) -> str:
    """The hashname of the keys in it."""
    return hashname({cs40.CSID: hello.key}, {RSA_CSID: hello.digest})


def is_admitting(code: Code, incoming: Incoming, hello: Hello, name: str, now: float) -> bool:
    """Whether the code is for that reporter, and the hello was made by who knows it."""
    return code.admits(incoming.kind, name, now) and secrets.is_code_proved(
        code.key, hello.proved, hello.code_proof
    )


def _allowance(rate: float, now: float) -> Allowance:
    return Allowance(rate, rate, now)


def _fault(code: int, hello: Hello) -> bytes:
    (nonce,) = _NONCE.unpack(hello.nonce)
    return Fault(code, hello.reporter, 0, nonce).serialize()
