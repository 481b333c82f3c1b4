"""Report sender: how a device or a server reports to the hub. Decides; sends and keeps nothing.

    report() ─▶ Backlog ─proved with the secret─▶ take() ─▶ hub
    received() ─▶ ACK: one less in the backlog      SECRET: from now on that one
                  CALL: to the shell                ERROR: say hello, or take a newer boot

The shell calls `tick` at `deadline`, and looks at `take` and `events` after every call.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from rookery.errors import AuthenticationError, RemoteError
from rookery.fleet.enrolment import secrets
from rookery.fleet.entry import FleetKind
from rookery.fleet.reports.backlog import Backlog, PendingReport
from rookery.fleet.reports.sender_hello import SenderHello
from rookery.fleet.reports.sender_limits import SenderCounters, SenderLimits
from rookery.fleet.reports.sender_state import SenderState
from rookery.identity import cs40
from rookery.identity.cipher_set import RandomBytes
from rookery.identity.identity import Identity
from rookery.wire.fleet import datagrams, tags, telemetry, tlv
from rookery.wire.fleet.datagrams import (
    BOOT_SEQUENCE_MAX,
    AckDatagram,
    CallDatagram,
    FaultDatagram,
    IssuedSecret,
    SealedSecret,
    report_proved,
    serialize_report,
)


class SenderCalled(msgspec.Struct, frozen=True):
    """Connect to the hub over TCP and ask for this wish. Repeated for the same wish at times."""

    wish: int


class SenderEnrolled(msgspec.Struct, frozen=True):
    """The hub has acknowledged a report after a hello: this sender is enrolled."""

    claim_code: str


class SecretRenewed(msgspec.Struct, frozen=True):
    """There is a new secret: save the state, and show the new claim code."""

    claim_code: str
    hub_ms: int  # the hub's wall clock, for devices without one


class HelloRefused(msgspec.Struct, frozen=True):
    """The hub refused a hello; it is retried with backoff."""

    reason: Literal["denied", "busy"]


class SenderRestarted(msgspec.Struct, frozen=True):
    """The hub knew a newer boot of this sender: its clock was behind, or there is a clone."""

    boot: int


SenderEvent = SenderCalled | SenderEnrolled | SecretRenewed | HelloRefused | SenderRestarted


_TAGS: dict[type, int] = {
    telemetry.DeviceReport: tags.TELEMETRY,
    telemetry.LoadReport: tags.LOAD,
    telemetry.CallReport: tags.AUDIT,
    telemetry.SessionReport: tags.SESSION,
}
_ANSWERED_MAX = 64  # reports ago; what answers an older one is a replay
_BOOT_CHANCE_SIZE = 2


class ReportSender:
    """`now` is monotonic seconds throughout; `wall_ms` is looked at once, to choose the boot."""

    def __init__(
        self,
        identity: Identity,
        hub_keys: Mapping[int, bytes],
        sender: bytes,
        kind: FleetKind,
        state: SenderState,
        wall_ms: int,
        random: RandomBytes,
        limits: SenderLimits = SenderLimits(),  # noqa: B008 - frozen
        code: str | None = None,
    ) -> None:
        self.counters = SenderCounters()
        self._local = identity.local[cs40.CSID]
        self._hub_key = hub_keys[cs40.CSID]
        self._sender = sender
        self._random = random
        self._secret = state.secret
        self._previous = b""  # proves answers to reports that were sent before a renewal
        self._generation = state.generation
        self._is_enrolled = state.is_enrolled
        self._boot = next_boot(state.boot, wall_ms, random)
        self._made = 0  # with this boot and the ones it had to take since
        self._call: tuple[int, int] = (0, 0)  # the last one: sequence and wish
        self._hello = SenderHello(identity, sender, kind, code, limits, random)
        self._backlog = Backlog(limits, random)
        self._datagrams: list[bytes] = []
        self._events: list[SenderEvent] = []
        for each in state.kept:
            self._keep(each.tag, each.content)
        if not self._secret:
            self._hello.want(0.0)

    @property
    def boot(self) -> int:
        return self._boot

    @property
    def is_enrolled(self) -> bool:
        """Whether the hub has acknowledged a report since the last hello."""
        return self._is_enrolled

    @property
    def waiting(self) -> int:
        """Reports that the hub has not acknowledged."""
        return len(self._backlog)

    @property
    def state(self) -> SenderState:
        """As it is now, reports included: to be kept by the shell, on disk or not at all."""
        return SenderState(
            secret=self._secret,
            generation=self._generation,
            boot=self._boot,
            is_enrolled=self._is_enrolled,
            kept=self._backlog.kept,
        )

    @property
    def claim_code(self) -> str | None:
        """For the owner to type into the hub's page; None before the first secret."""
        return secrets.claim_code(self._secret) if self._secret else None

    @property
    def deadline(self) -> float | None:
        """When to call `tick`; None: nothing to do before the next report."""
        times = (self._hello.deadline, self._backlog.deadline() if self._secret else None)
        return min((time for time in times if time is not None), default=None)

    def report(self, report: telemetry.Report, now: float) -> None:
        """Keep a report until the hub acknowledges it; UsageError when it is too large."""
        self._made += 1
        numbered = msgspec.structs.replace(report, b=self._boot, n=self._made)
        self._keep(_TAGS[type(report)], telemetry.encode(numbered))
        self.counters.made += 1
        self.tick(now)

    def tick(self, now: float) -> None:
        """Time has passed: send what is due."""
        hello = self._hello.due(now)
        if hello is not None:
            self.counters.hellos += 1
            self._datagrams.append(hello)
        if self._secret:
            for each in self._backlog.due(now):
                self._send(each)

    def received(self, datagram: bytes, now: float) -> None:
        """Handle a datagram from any source; count and drop what the hub has not proved."""
        try:
            for each in tlv.parse_all(datagram):
                self._receive(each, now)
        except RemoteError:
            self.counters.refused += 1
        self.tick(now)

    def take(self) -> list[bytes]:
        """Datagrams for the hub, to be sent now."""
        taken, self._datagrams = self._datagrams, []
        return taken

    def events(self) -> list[SenderEvent]:
        """Take the events since the last call."""
        taken, self._events = self._events, []
        return taken

    def _keep(self, tag: int, content: bytes) -> None:
        if not self._backlog.add(tag, content):
            self.counters.dropped += 1

    def _send(self, waiting: PendingReport) -> None:
        proved = report_proved(
            waiting.tag,
            self._sender,
            self._generation,
            self._boot,
            waiting.sequence,
            waiting.content,
        )
        datagram = serialize_report(proved, secrets.prove(self._secret, proved))
        if not self._is_enrolled:
            datagram = self._hello.introduction() + datagram
        self.counters.sent += 1
        self._datagrams.append(datagram)

    def _receive(self, each: tlv.Tlv, now: float) -> None:
        match each.tag:
            case tags.ACK:
                self._acknowledged(AckDatagram.parse(each.value), now)
            case tags.SECRET:
                self._issued(SealedSecret.parse(each.value), now)
            case tags.CALL:
                self._called(CallDatagram.parse(each.value))
            case tags.ERROR:
                self._failed(FaultDatagram.parse(each.value), now)
            case _:
                pass  # a newer hub may say more than we understand

    def _acknowledged(self, ack: AckDatagram, now: float) -> None:
        self._check_proof(ack)
        self._check_answer(ack.sender, ack.boot, ack.sequence)
        if not self._backlog.acknowledge(ack.sequence, now):
            return
        self.counters.acknowledged += 1
        self._hello.enrolled()
        if not self._is_enrolled:
            self._is_enrolled = True
            self._events.append(SenderEnrolled(secrets.claim_code(self._secret)))

    def _called(self, call: CallDatagram) -> None:
        self._check_proof(call)
        self._check_answer(call.sender, call.boot, call.sequence)
        sequence, wish = self._call
        if call.wish != wish or call.sequence > sequence:
            self._call = call.sequence, call.wish
            self._events.append(SenderCalled(call.wish))

    def _issued(self, sealed: SealedSecret, now: float) -> None:
        opened = self._local.open(sealed.sealed)
        self._local.verify(opened, self._hub_key)
        issue = IssuedSecret.parse(opened.inner)
        if issue.nonce == self._hello.nonce:
            # Whatever its generation: the hub may have got another master, or another clock.
            self._hello.answered()
            self._is_enrolled = False
            self._backlog.retry()
        else:
            self._check_answer(sealed.sender, self._boot, int.from_bytes(issue.nonce, "big"))
            if issue.generation <= self._generation:
                raise AuthenticationError("a secret from before")
        self._previous, self._secret = self._secret, issue.secret
        self._generation = issue.generation
        self._events.append(SecretRenewed(secrets.claim_code(issue.secret), issue.hub_ms))

    def _failed(self, fault: FaultDatagram, now: float) -> None:
        match fault.code:
            case datagrams.UNKNOWN:
                self._check_answer(fault.sender, fault.boot, fault.sequence)
                self._hello.want(now)
            case datagrams.STALE:
                self._check_proof(fault)
                self._check_answer(fault.sender, self._boot, fault.sequence)
                self._restart(fault.boot, now)
            case datagrams.DENIED:
                self._check_hello(fault)
                self._hello.refused(now)
                self._events.append(HelloRefused("denied"))
            case datagrams.BUSY:
                self._check_hello(fault)
                self._events.append(HelloRefused("busy"))
            case _:
                pass

    def _restart(self, known: int, now: float) -> None:
        """The hub knows a newer boot of this sender: take one beyond it."""
        if known <= self._boot:
            return  # a replayed answer
        if known == BOOT_SEQUENCE_MAX:
            self._hello.want(now)  # with a newer secret any boot is accepted
            return
        self._boot = next_boot(known, 0, self._random)
        self._call = (0, 0)
        self._backlog.renumber()
        self.counters.restarts += 1
        self._events.append(SenderRestarted(self._boot))

    def _check_answer(self, sender: bytes, boot: int, sequence: int) -> None:
        """AuthenticationError unless it answers a report that was sent not long ago."""
        age = self._backlog.sent_highest - sequence
        if sender != self._sender or boot != self._boot or not 0 <= age < _ANSWERED_MAX:
            raise AuthenticationError("an answer to none of our reports")

    def _check_hello(self, fault: FaultDatagram) -> None:
        if fault.boot or fault.sequence.to_bytes(8, "big") != self._hello.nonce:
            raise AuthenticationError("an answer to none of our hellos")
        if not self._hello.is_first_refusal():
            raise AuthenticationError("this hello has been refused before")

    def _check_proof(self, answer: AckDatagram | CallDatagram | FaultDatagram) -> None:
        proved = answer.proved
        for secret in (self._secret, self._previous):
            if secret and secrets.is_proved(secret, proved, answer.proof):
                return
        raise AuthenticationError("an answer that the hub did not make")


def next_boot(last: int, wall_ms: int, random: RandomBytes) -> int:
    """A boot newer than the last, with a random part, so that a clone takes another one.

    Devices that neither keep their state nor have a clock would otherwise choose the same boots.
    """
    chance = int.from_bytes(random(_BOOT_CHANCE_SIZE), "big")
    return min(max(last + 1, wall_ms) + chance, BOOT_SEQUENCE_MAX)
