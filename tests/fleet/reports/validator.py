"""A report validator with a clock, and devices and servers that send what a test wants."""

import random

import msgspec

from rookery.fleet.enrolment import secrets
from rookery.fleet.enrolment.code import EnrolmentCode
from rookery.fleet.entry import FleetEntry, FleetKind, server_id
from rookery.fleet.reports.report_outcome import ReportOutcome
from rookery.fleet.reports.report_validator import ReportValidator
from rookery.fleet.reports.validator_settings import ReportValidatorSettings
from rookery.identity.identity import Identity
from rookery.wire.fleet import tlv
from rookery.wire.fleet.datagrams import (
    HELLO_DATAGRAM_SIZE_MIN,
    FaultDatagram,
    HelloDatagram,
    IssuedSecret,
    SealedSecret,
    report_proved,
    serialize_report,
)
from rookery.wire.fleet.tags import ERROR, HELLO, LOAD, SECRET, SERVER_HELLO, TELEMETRY
from tests.fleet.senders import CS40, identity_of

NOW = 1_800_000_000.0
HOME = "192.0.2.1:4000"
ELSEWHERE = "198.51.100.7:4000"
MAC = bytes.fromhex("02fc00000001")
CODE = "ABCD-EFGH-IJKL-MNOP"
CODE_KEY = secrets.code_key(CODE)
CONTENT = b"\x81\xa4kind\xa6device" + bytes(60)

RANDOM = random.Random(7)
HUB = identity_of(RANDOM.randbytes)


def code_of(kind: FleetKind, **changes: object) -> EnrolmentCode:
    code = EnrolmentCode(
        id=secrets.code_id(CODE_KEY), key=CODE_KEY, kind=kind, owner=1, expires_at=NOW + 1000
    )
    return msgspec.structs.replace(code, **changes)


class Device:
    """Makes datagrams of a device or server, good ones unless told otherwise."""

    def __init__(self, kind: FleetKind = "router", mac: bytes = MAC) -> None:
        self.identity: Identity = identity_of(RANDOM.randbytes)
        self.kind = kind
        self.mac = mac if kind == "router" else server_id(self.identity.hashname)
        self.secret = b""
        self.generation = 0
        self.boot = 100

    def hello(self, *, code: bool = False) -> HelloDatagram:
        digest = self.identity.intermediates(CS40)[0x2A]
        hello = HelloDatagram(self.mac, b"noncenon", self.identity.keys[CS40], digest)
        if not code:
            return hello
        hello = hello._replace(code_id=secrets.code_id(CODE_KEY))
        return hello._replace(code_proof=secrets.prove_code(CODE_KEY, hello.proved))

    def hello_datagram(self, *, code: bool = False) -> bytes:
        return self.hello(code=code).serialize(self._hello_tag, HELLO_DATAGRAM_SIZE_MIN)

    def introduction(self, sequence: int, *, code: bool = False) -> bytes:
        return self.hello(code=code).serialize(self._hello_tag) + self.report(sequence)

    def report(self, sequence: int, content: bytes = CONTENT, *, tag: int | None = None) -> bytes:
        if tag is None:
            tag = TELEMETRY if self.kind == "router" else LOAD
        proved = report_proved(tag, self.mac, self.generation, self.boot, sequence, content)
        return serialize_report(proved, secrets.prove(self.secret, proved))

    def opened(self, answer: bytes) -> IssuedSecret:
        """The secret in an answer, which is taken over."""
        (sealed,) = [each.value for each in tlv.parse_all(answer) if each.tag == SECRET]
        local = self.identity.local[CS40]
        opened = local.open(SealedSecret.parse(sealed).sealed)
        local.verify(opened, HUB.keys[CS40])
        issue = IssuedSecret.parse(opened.inner)
        self.secret, self.generation = issue.secret, issue.generation
        return issue

    @property
    def _hello_tag(self) -> int:
        return HELLO if self.kind == "router" else SERVER_HELLO


class FakeHub:
    """A report validator and its entries."""

    def __init__(self, settings: ReportValidatorSettings | None = None) -> None:
        self.now = NOW
        self.validator = ReportValidator(
            HUB,
            bytes(32),
            RANDOM.randbytes,
            NOW,
            settings or ReportValidatorSettings(renewal_s=1000, policy="open"),
        )
        self.entries: dict[bytes, FleetEntry] = {}
        self.spool: list[bytes] = []

    @property
    def counters(self) -> dict[str, int]:
        """Those that count anything."""
        told: dict[str, int] = msgspec.structs.asdict(self.validator.counters)
        return {name: value for name, value in told.items() if value}

    def tell(
        self,
        datagram: bytes,
        *,
        address: str = HOME,
        code: EnrolmentCode | None = None,
        wish: int | None = None,
    ) -> ReportOutcome | None:
        incoming = self.validator.read(datagram, address, self.now)
        if incoming is None:
            return None
        entry = self.entries.get(incoming.sender)
        outcome = self.validator.receive(incoming, entry, code, wish, self.now)
        if outcome.changed is not None:
            self.entries[incoming.sender] = outcome.changed
        self.spool += [record for record in (outcome.enrolled, outcome.spool) if record]
        return outcome

    def answer(self, datagram: bytes, **told: object) -> ReportOutcome:
        outcome = self.tell(datagram, **told)  # type: ignore[arg-type]
        assert outcome is not None
        return outcome

    def enrol(self, device: Device, code: EnrolmentCode | None = None) -> FleetEntry:
        has_code = code is not None
        device.opened(self.answer(device.hello_datagram(code=has_code), code=code).answer_now)
        outcome = self.answer(device.introduction(1, code=has_code), code=code)
        assert outcome.changed is not None
        return outcome.changed


def fault(outcome: ReportOutcome) -> FaultDatagram:
    """The only thing in an answer."""
    assert not outcome.answer_durable
    (only,) = tlv.parse_all(outcome.answer_now)
    assert only.tag == ERROR
    return FaultDatagram.parse(only.value)
