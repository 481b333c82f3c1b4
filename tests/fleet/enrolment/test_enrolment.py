"""F4: who gets a secret, and how an unknown sender becomes a known one."""

import pytest

from rookery.fleet import entry as entries
from rookery.fleet.enrolment import secrets
from rookery.fleet.enrolment.code import EnrolmentCode
from rookery.fleet.reports.validator_settings import ReportValidatorSettings
from rookery.wire import observation as observations
from rookery.wire.fleet.datagrams import BUSY, DENIED, UNKNOWN
from rookery.wire.observation import Observation
from tests.fleet.reports.validator import CONTENT, HOME, MAC, NOW, Device, FakeHub, code_of, fault

NONCE = int.from_bytes(b"noncenon", "big")
CLAIM = ReportValidatorSettings(renewal_s=1000, policy="claim")


def test_first_contact_is_answered_by_a_sealed_secret_and_leaves_no_trace_f4() -> None:
    hub, device = FakeHub(), Device()
    datagram = device.hello_datagram()
    outcome = hub.answer(datagram)
    issue = device.opened(outcome.answer_now)
    assert issue.nonce == b"noncenon"
    assert issue.hub_ms == int(NOW * 1000)
    assert issue.generation == secrets.generation(MAC, NOW, 1000)
    assert issue.secret not in outcome.answer_now
    assert len(outcome.answer_now) <= len(datagram)
    assert (outcome.changed, outcome.spool, outcome.enrolled) == (None, None, None)
    assert hub.counters == {"hellos": 1}


def test_the_first_proved_report_makes_the_entry_f4() -> None:
    hub, device = FakeHub(), Device()
    device.opened(hub.answer(device.hello_datagram()).answer_now)
    outcome = hub.answer(device.introduction(1))
    entry = outcome.changed
    assert entry is not None
    assert (entry.sender, entry.kind) == (MAC, "router")
    assert entry.hashname == device.identity.hashname
    assert (entry.boot, entry.sequence, entry.content) == (100, 1, CONTENT)
    assert (entry.first_seen, entry.last_seen, entry.address) == (NOW, NOW, HOME)
    assert outcome.enrolled is not None
    told = Observation.parse(outcome.enrolled)
    assert told.kind == observations.ENROLLED
    assert entries.decode(told.content) == entry
    assert outcome.spool is not None
    assert outcome.answer_durable
    assert outcome.code is None


def test_nobody_enrols_another_ones_key_f4() -> None:
    """Anybody can say hello with a public key, but only its holder opens the answer."""
    hub, device = FakeHub(), Device()
    device.secret = bytes(32)
    outcome = hub.answer(device.introduction(1))
    assert fault(outcome).code == UNKNOWN
    assert outcome.changed is None
    assert hub.counters == {"forged": 1}


def test_an_old_secret_does_not_enrol_f4() -> None:
    hub, device = FakeHub(), Device()
    device.opened(hub.answer(device.hello_datagram()).answer_now)
    hub.now += 3000
    outcome = hub.answer(device.introduction(1))
    assert outcome.changed is None
    assert hub.counters["old_secret"] == 1


def test_a_known_device_that_lost_its_secret_gets_one_f4() -> None:
    hub, device = FakeHub(CLAIM), Device()
    hub.enrol(device, code_of("router"))
    first = device.secret
    device.secret = b""
    device.opened(hub.answer(device.hello_datagram()).answer_now)
    assert device.secret == first
    outcome = hub.answer(device.introduction(2))
    assert outcome.spool is not None
    assert outcome.enrolled is None


def test_a_hello_never_gets_a_secret_older_than_one_proved_f4() -> None:
    hub, device = FakeHub(), Device()
    hub.now += 50_000
    hub.enrol(device)
    newest = device.generation
    hub.now -= 50_000
    assert device.opened(hub.answer(device.hello_datagram()).answer_now).generation == newest


def test_another_key_with_a_known_mac_is_refused_f4() -> None:
    hub, device, other = FakeHub(), Device(), Device()
    hub.enrol(device)
    outcome = hub.answer(other.hello_datagram())
    told = fault(outcome)
    assert (told.code, told.sender, told.boot, told.sequence) == (DENIED, MAC, 0, NONCE)
    assert [event.kind for event in outcome.events] == ["foreign key"]
    assert hub.counters["foreign_key"] == 1
    other.secret = device.secret
    other.generation = device.generation
    assert hub.answer(device.report(2)).spool is not None


@pytest.mark.parametrize(
    ("kind", "settings"),
    [("router", CLAIM), ("server", CLAIM), ("server", ReportValidatorSettings())],
)
def test_without_a_code_nobody_enrols_who_needs_one_f4(
    kind: str, settings: ReportValidatorSettings
) -> None:
    hub = FakeHub(settings)
    device = Device("server" if kind == "server" else "router")
    outcome = hub.answer(device.hello_datagram())
    assert fault(outcome).code == DENIED
    assert [event.kind for event in outcome.events] == ["denied"]
    introduced = hub.answer(device.introduction(1))
    assert fault(introduced).code == DENIED
    assert introduced.changed is None
    assert hub.counters == {"denied": 2}


@pytest.mark.parametrize("kind", ["router", "server"])
def test_a_code_lets_one_in_and_is_used_then_f4(kind: str) -> None:
    hub = FakeHub(CLAIM)
    code = code_of("server" if kind == "server" else "router")
    device = Device("server" if kind == "server" else "router")
    incoming = hub.validator.read(device.hello_datagram(code=True), HOME, NOW)
    assert incoming is not None
    assert incoming.code_id == code.id
    outcome = hub.answer(device.hello_datagram(code=True), code=code)
    assert outcome.code is None
    device.opened(outcome.answer_now)
    assert hub.answer(device.introduction(1, code=True), code=code).code == code.id


@pytest.mark.parametrize(
    "code",
    [
        code_of("server"),
        code_of("router", expires_at=NOW),
        code_of("router", used_by="somebody else"),
        code_of("router", key=bytes(32)),
    ],
    ids=["of another kind", "expired", "used", "of another key"],
)
def test_a_code_that_does_not_admit_is_as_none_f4(code: EnrolmentCode) -> None:
    hub, device = FakeHub(CLAIM), Device()
    assert fault(hub.answer(device.hello_datagram(code=True), code=code)).code == DENIED


def test_who_used_a_code_may_use_it_again_should_the_hub_forget_f4() -> None:
    hub, device = FakeHub(CLAIM), Device()
    hub.enrol(device, code_of("router"))
    hub.entries.clear()
    used = code_of("router", used_by=device.identity.hashname)
    assert hub.answer(device.introduction(2, code=True), code=used).spool is not None


def test_two_with_one_code_one_gets_in_f4() -> None:
    hub, first, second = FakeHub(CLAIM), Device(), Device(mac=b"\x02\xfc\x00\x00\x00\x02")
    code = code_of("router")
    for device in (first, second):
        device.opened(hub.answer(device.hello_datagram(code=True), code=code).answer_now)
    assert hub.answer(first.introduction(1, code=True), code=code).code == code.id
    used = code_of("router", used_by=first.identity.hashname)
    assert fault(hub.answer(second.introduction(1, code=True), code=used)).code == DENIED


def test_under_an_open_policy_a_code_still_tells_the_owner_f4() -> None:
    hub, device = FakeHub(), Device()
    device.opened(hub.answer(device.hello_datagram(code=True)).answer_now)
    outcome = hub.answer(device.introduction(1, code=True), code=code_of("router"))
    assert outcome.code == code_of("router").id
    hub.entries.clear()
    expired = code_of("router", expires_at=NOW)
    outcome = hub.answer(device.introduction(1, code=True), code=expired)
    assert outcome.changed is not None
    assert outcome.code is None


def test_a_code_proof_is_for_one_key_f4() -> None:
    """Who has recorded a hello cannot enrol another key with its code."""
    hub, device, thief = FakeHub(CLAIM), Device(), Device()
    seen = device.hello(code=True)
    stolen = thief.hello()._replace(code_id=seen.code_id, code_proof=seen.code_proof)
    outcome = hub.answer(stolen.serialize(3075, 192), code=code_of("router"))
    assert fault(outcome).code == DENIED


def test_strangers_do_not_use_up_what_is_for_those_known_f4() -> None:
    hub = FakeHub(
        ReportValidatorSettings(
            policy="open", stranger_rate=3.0, known_rate=1.0, address_burst=1000.0
        )
    )
    device = Device()
    hub.enrol(device)
    strangers = [Device(mac=b"\x02" + number.to_bytes(5, "big")) for number in range(6)]
    answers = [hub.answer(each.hello_datagram()) for each in strangers]
    told = [fault(each) for each in answers if len(each.answer_now) < 100]
    assert [each.code for each in told] == [BUSY] * 4
    assert told[0].sequence == NONCE
    assert hub.counters["busy"] == 4
    assert len(hub.answer(device.hello_datagram()).answer_now) > 100


def test_a_key_that_nothing_can_be_sealed_to_is_dropped_f4() -> None:
    hub, device = FakeHub(), Device()
    hello = device.hello()._replace(key=bytes(64))
    outcome = hub.answer(hello.serialize(3075, 192))
    assert (outcome.answer_now, outcome.answer_durable) == (b"", b"")
    assert hub.counters == {"malformed": 1}
