"""F3, F4, F7: a sender and what it makes of answers, good ones and others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import UsageError
from rookery.fleet.enrolment import secrets
from rookery.fleet.reports.report_sender import (
    HelloRefused,
    ReportSender,
    SecretRenewed,
    SenderCalled,
    SenderEnrolled,
    SenderEvent,
    SenderRestarted,
    next_boot,
)
from rookery.fleet.reports.report_validator import ReportValidator
from rookery.fleet.reports.sender_state import SenderState
from rookery.fleet.reports.validator_settings import ReportValidatorSettings
from rookery.wire.fleet import tlv
from rookery.wire.fleet.datagrams import (
    BOOT_SEQUENCE_MAX,
    BUSY,
    DENIED,
    STALE,
    UNKNOWN,
    FaultDatagram,
    ReportDatagram,
)
from rookery.wire.fleet.tags import ACK, AUDIT, CALL, HELLO, LOAD, SECRET, TELEMETRY
from rookery.wire.fleet.telemetry import CallReport, DeviceReport, LoadReport, decode
from tests.fleet.reports.validator import CODE, HUB, MAC, NOW, RANDOM, Device, FakeHub, code_of
from tests.fleet.senders import identity_of

SAMPLE = DeviceReport(t=1, up=5.0, mem=0.5, agent="0.1.0")
LOAD_SAMPLE = LoadReport(t=1, seats_max=1, seats_used=0, tcp="192.0.2.1:1", key2a=b"")
CALL_SAMPLE = CallReport(t=1, who="ann", router="02", method="x", ms=1.0)

ROUNDS_MAX = 20


class Line:
    """A sender and a validator; the test passes the datagrams of each to the other."""

    def __init__(
        self, settings: ReportValidatorSettings | None = None, code: str | None = None
    ) -> None:
        self.hub = FakeHub(settings or ReportValidatorSettings(policy="open", renewal_s=1000))
        self.device = Device()
        self.now = 0.0
        self.sender = self.made(SenderState(), code)

    def made(self, state: SenderState, code: str | None = None) -> ReportSender:
        return ReportSender(
            self.device.identity,
            HUB.keys,
            MAC,
            "router",
            state,
            int(NOW * 1000),
            RANDOM.randbytes,
            code=code,
        )

    def answers(self, *, wish: int | None = None) -> list[bytes]:
        """Answers of the validator to what the sender sends now."""
        found = []
        for datagram in self.sender.take():
            outcome = self.hub.answer(datagram, code=code_of("router"), wish=wish)
            found += [outcome.answer_now, outcome.answer_durable]
        return [answer for answer in found if answer]

    def exchange(self, *, wish: int | None = None) -> list[SenderEvent]:
        """Until neither has anything to say; what the shell hears of it."""
        for _ in range(ROUNDS_MAX):
            answers = self.answers(wish=wish)
            if not answers:
                return self.sender.events()
            for answer in answers:
                self.sender.received(answer, self.now)
        raise AssertionError("they will never be done")

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.hub.now += seconds
        self.sender.tick(self.now)


@pytest.fixture
def line() -> Line:
    """Enrolled, and nothing waits."""
    made = Line()
    made.sender.report(SAMPLE, 0.0)
    made.exchange()
    assert made.sender.is_enrolled
    return made


def test_hello_secret_report_acknowledgement_f3_f4() -> None:
    line = Line()
    sender = line.sender
    assert sender.deadline == 0.0
    assert sender.claim_code is None
    sender.report(SAMPLE, 0.0)
    (hello,) = sender.take()
    assert tlv.parse_all(hello)[0].tag == HELLO
    secret = line.hub.answer(hello).answer_now
    sender.received(secret, 0.1)
    (renewed,) = sender.events()
    assert renewed == SecretRenewed(sender.claim_code or "", int(NOW * 1000))
    (introduction,) = sender.take()
    assert [each.tag for each in tlv.parse_all(introduction)] == [HELLO, TELEMETRY]
    assert not sender.is_enrolled
    sender.received(line.hub.answer(introduction).answer_durable, 0.2)
    assert sender.events() == [SenderEnrolled(sender.claim_code or "")]
    assert sender.deadline is None
    assert sender.take() == []
    sender.report(SAMPLE, 20.0)
    (report,) = sender.take()
    assert ReportDatagram.parse(report).sequence == 2
    assert line.hub.validator.is_claimed(line.hub.entries[MAC], sender.claim_code or "", NOW)


def test_a_report_says_where_it_comes_from_f3(line: Line) -> None:
    line.sender.report(SAMPLE, 20.0)
    (datagram,) = line.sender.take()
    report = ReportDatagram.parse(datagram)
    told = decode(report.content)
    assert (told.b, told.n) == (line.sender.boot, 2)
    assert (report.boot, report.sequence) == (line.sender.boot, 2)


@pytest.mark.parametrize(
    ("sample", "tag"), [(SAMPLE, TELEMETRY), (LOAD_SAMPLE, LOAD), (CALL_SAMPLE, AUDIT)]
)
def test_each_kind_of_report_has_its_tag_f3_f5(
    line: Line, sample: DeviceReport | LoadReport | CallReport, tag: int
) -> None:
    line.sender.report(sample, 20.0)
    assert ReportDatagram.parse(line.sender.take()[0]).tag == tag


def test_a_report_that_is_too_large_is_our_own_mistake(line: Line) -> None:
    with pytest.raises(UsageError):
        line.sender.report(DeviceReport(t=1, agent="x" * 2000), 20.0)
    assert line.sender.take() == []


def test_a_code_is_used_to_enrol_f4() -> None:
    line = Line(ReportValidatorSettings(policy="claim"), CODE)
    line.sender.report(SAMPLE, 0.0)
    assert [type(event) for event in line.exchange()] == [SecretRenewed, SenderEnrolled]


@pytest.mark.parametrize(("code", "reason"), [(DENIED, "denied"), (BUSY, "busy")])
def test_a_refusal_is_told_and_the_hello_repeated_f4(code: int, reason: str) -> None:
    line = Line()
    line.sender.tick(0.0)
    (hello,) = line.sender.take()
    nonce = int.from_bytes(hello[10:18], "big")
    line.sender.received(FaultDatagram(code, MAC, 0, nonce).serialize(), 0.1)
    (event,) = line.sender.events()
    assert isinstance(event, HelloRefused)
    assert event.reason == reason
    assert line.sender.deadline is not None
    again = FaultDatagram(code, MAC, 0, nonce)
    for wrong in (
        again,
        FaultDatagram(code, MAC, 0, nonce ^ 1),
        FaultDatagram(code, MAC, 1, nonce),
    ):
        line.sender.received(wrong.serialize(), 0.1)
    assert line.sender.events() == []
    assert line.sender.counters.refused == 3


def test_a_renewal_is_taken_over_and_proved_f4(line: Line) -> None:
    before = line.sender.state
    line.pass_time(1000.0)
    line.sender.report(SAMPLE, line.now)
    assert [type(event) for event in line.exchange()] == [SecretRenewed]
    after = line.sender.state
    assert after.generation > before.generation
    assert after.secret != before.secret
    line.pass_time(20.0)
    line.sender.report(SAMPLE, line.now)
    line.exchange()
    assert line.hub.entries[MAC].generation == after.generation
    assert line.sender.is_enrolled


def test_an_acknowledgement_that_a_renewal_overtook_still_counts_f4(line: Line) -> None:
    line.pass_time(1000.0)
    line.sender.report(SAMPLE, line.now)
    secret, ack = line.answers()
    line.sender.received(secret, line.now)
    line.sender.received(ack, line.now)
    assert line.sender.counters.acknowledged == 2
    assert line.sender.state.kept == ()


def test_recorded_secrets_are_of_no_use_f4(line: Line) -> None:
    """Each answers one hello or one report, and never takes a sender back."""
    recorded = []
    for _ in range(3):
        line.pass_time(1000.0)
        line.sender.report(SAMPLE, line.now)
        answers = line.answers()
        recorded += [answer for answer in answers if answer[:2] == SECRET.to_bytes(2, "big")]
        for answer in answers:
            line.sender.received(answer, line.now)
    state = line.sender.state
    line.sender.events()
    for answer in recorded:
        line.sender.received(answer, line.now)
    assert line.sender.state == state
    assert line.sender.counters.refused == 3
    restarted = line.made(state)
    for answer in recorded:
        restarted.received(answer, line.now)
    assert restarted.state.secret == state.secret
    assert restarted.counters.refused == 3


def test_only_the_hub_makes_secrets_f4() -> None:
    """Whoever reads the network knows the nonce and the key, but cannot seal as the hub does."""
    line = Line()
    line.sender.tick(0.0)
    (hello,) = line.sender.take()
    is_open = ReportValidatorSettings(policy="open")
    impostor = ReportValidator(
        identity_of(RANDOM.randbytes), bytes(32), RANDOM.randbytes, NOW, is_open
    )
    incoming = impostor.read(hello, "198.51.100.7:1", NOW)
    assert incoming is not None
    answer = impostor.receive(incoming, None, None, None, NOW).answer_now
    line.sender.received(answer, 0.1)
    assert line.sender.state.secret == b""
    assert line.sender.counters.refused == 1
    line.sender.received(line.hub.answer(hello).answer_now, 0.2)
    assert line.sender.state.secret


def test_a_secret_for_another_is_refused_f4(line: Line) -> None:
    other = Device(mac=b"\x02\xfc\x00\x00\x00\x02")
    answer = line.hub.answer(other.hello_datagram()).answer_now
    state = line.sender.state
    line.sender.received(answer, 1.0)
    assert line.sender.state == state
    assert line.sender.counters.refused == 1


def test_a_call_is_told_once_for_each_report_f7(line: Line) -> None:
    line.sender.report(SAMPLE, 20.0)
    (now, durable) = line.answers(wish=77)
    for answer in (now, durable, now, durable):
        line.sender.received(answer, 20.1)
    assert line.sender.events() == [SenderCalled(77)]
    line.sender.report(SAMPLE, 40.0)
    assert line.exchange(wish=77) == [SenderCalled(77)]
    line.sender.report(SAMPLE, 60.0)
    assert line.exchange(wish=78) == [SenderCalled(78)]
    line.sender.received(now, 60.1)
    assert line.sender.events() == [SenderCalled(77)]


def test_answers_to_reports_of_long_ago_are_refused_f7(line: Line) -> None:
    line.sender.report(SAMPLE, 20.0)
    (now, durable) = line.answers(wish=77)
    line.sender.received(durable, 20.1)
    for number in range(64):
        line.sender.report(SAMPLE, 40.0 + number)
        line.exchange()
    line.sender.events()
    line.sender.received(now, 200.0)
    assert line.sender.events() == []
    assert line.sender.counters.refused == 1


def test_a_hub_that_does_not_know_us_is_told_f4(line: Line) -> None:
    line.hub.entries.clear()
    line.sender.report(SAMPLE, 20.0)
    assert [type(event) for event in line.exchange()] == [SecretRenewed, SenderEnrolled]
    assert line.sender.state.kept == ()


def test_a_lie_about_being_unknown_costs_a_hello_and_no_report_f4(line: Line) -> None:
    line.sender.report(SAMPLE, 20.0)
    report = ReportDatagram.parse(line.sender.take()[0])
    lie = FaultDatagram(UNKNOWN, MAC, report.boot, report.sequence)
    line.sender.received(lie.serialize(), 20.0)
    line.sender.received(lie.serialize(), 20.0)
    assert len(line.sender.take()) == 1
    line.sender.report(SAMPLE, 40.0)
    line.exchange()
    assert line.sender.counters.acknowledged >= 2
    wrong = lie._replace(boot=report.boot + 1)
    line.sender.received(wrong.serialize(), 40.0)
    assert line.sender.counters.refused == 1


def stale(line: Line, boot: int, sequence: int) -> bytes:
    bare = FaultDatagram(STALE, MAC, boot, sequence)
    return bare._replace(proof=secrets.prove(line.sender.state.secret, bare.proved)).serialize()


def test_a_newer_boot_that_the_hub_knows_is_outdone_f4(line: Line) -> None:
    boot = line.sender.boot
    line.hub.entries[MAC].boot = boot + 10**6
    line.sender.report(SAMPLE, 20.0)
    assert line.exchange() == [SenderRestarted(line.sender.boot)]
    assert line.sender.boot > boot + 10**6
    assert line.sender.counters.restarts == 1
    assert line.sender.state.kept == ()
    told = decode(line.hub.entries[MAC].content)
    assert (told.b, told.n) == (boot, 2)  # where it came from does not change


def test_recorded_news_of_boots_changes_nothing_f4(line: Line) -> None:
    boot = line.sender.boot
    for known in (boot - 1, boot):
        line.sender.received(stale(line, known, 1), 1.0)
    assert line.sender.boot == boot
    forged = FaultDatagram(STALE, MAC, boot + 5, 1, bytes(16)).serialize()
    line.sender.received(forged, 1.0)
    line.sender.received(stale(line, boot + 5, 100), 1.0)
    assert line.sender.boot == boot
    assert line.sender.counters.refused == 2


def test_a_boot_that_cannot_be_outdone_calls_for_a_new_secret_f4(line: Line) -> None:
    line.sender.received(stale(line, BOOT_SEQUENCE_MAX, 1), 1.0)
    (hello,) = line.sender.take()
    assert tlv.parse_all(hello)[0].tag == HELLO


def test_a_restart_keeps_secret_and_reports_and_takes_a_newer_boot_f3_f4(line: Line) -> None:
    line.sender.report(SAMPLE, 20.0)
    assert line.sender.waiting == 1
    state = SenderState.parse(line.sender.state.serialize())
    restarted = line.made(state)
    assert restarted.boot > line.sender.boot
    assert restarted.is_enrolled
    assert restarted.deadline == 0.0
    line.sender = restarted
    line.pass_time(1.0)
    line.exchange()
    assert restarted.state.kept == ()
    told = decode(line.hub.entries[MAC].content)
    assert (told.b, told.n) == (state.boot, 2)


def test_boots_only_grow_f4() -> None:
    zeros, ones = bytes, lambda size: b"\xff" * size
    assert next_boot(0, 0, zeros) == 1
    assert next_boot(0, 500, zeros) == 500
    assert next_boot(1000, 500, zeros) == 1001
    assert next_boot(1000, 500, ones) == 1001 + 65_535
    assert next_boot(BOOT_SEQUENCE_MAX, 0, ones) == BOOT_SEQUENCE_MAX


@given(st.binary(max_size=200))
def test_arbitrary_bytes_change_nothing_f4(datagram: bytes) -> None:
    line = Line()
    state = line.sender.state
    line.sender.received(datagram, 0.0)
    assert line.sender.state == state
    assert line.sender.events() == []


@pytest.mark.parametrize("tag", [ACK, CALL, SECRET, 1, 1026, 9999])
def test_values_that_do_not_hold_change_nothing_f4(line: Line, tag: int) -> None:
    state = line.sender.state
    for size in (0, 7, 24, 38, 40, 46, 135):
        line.sender.received(tlv.serialize(tag, MAC + bytes(size)), 1.0)
    assert line.sender.state == state
    assert line.sender.events() == []


def test_a_fault_of_a_newer_hub_is_passed_over(line: Line) -> None:
    line.sender.received(FaultDatagram(99, MAC, 0, 0).serialize(), 1.0)
    assert line.sender.counters.refused == 0
    assert line.sender.deadline is None
