"""F3, F4, F5: what the hub does about reports."""

import msgspec
import pytest

from rookery.fleet.enrolment import secrets
from rookery.fleet.entry import copied
from rookery.fleet.reports.validator_settings import ReportValidatorSettings
from rookery.wire import observation as observations
from rookery.wire.fleet import tlv
from rookery.wire.fleet.datagrams import (
    BOOT_SEQUENCE_MAX,
    STALE,
    UNKNOWN,
    AckDatagram,
    CallDatagram,
    serialize_plain,
)
from rookery.wire.fleet.tags import ACK, AUDIT, CALL, SECRET, SESSION, TELEMETRY
from rookery.wire.fleet.telemetry import DeviceReport, encode
from rookery.wire.observation import Observation
from tests.fleet.reports.validator import (
    CONTENT,
    ELSEWHERE,
    HOME,
    MAC,
    NOW,
    Device,
    Office,
    code_of,
    fault,
)

RENEWAL_S = 1000


@pytest.fixture
def office() -> Office:
    return Office(ReportValidatorSettings(policy="open", renewal_s=RENEWAL_S))


@pytest.fixture
def device(office: Office) -> Device:
    """Has enrolled, with its report number 1."""
    device = Device()
    office.enrol(device)
    return device


def tags(answer: bytes) -> list[int]:
    return [each.tag for each in tlv.parse_all(answer)]


def test_a_new_report_is_spooled_and_acknowledged_once_durable_f3(
    office: Office, device: Device
) -> None:
    office.now += 20.5
    outcome = office.answer(device.report(2))
    entry = office.entries[MAC]
    assert outcome.changed is entry
    assert outcome.answer_now == b""
    (ack,) = tlv.parse_all(outcome.answer_durable)
    assert ack.tag == ACK
    told = AckDatagram.parse(ack.value)
    assert (told.sender, told.boot, told.sequence) == (MAC, 100, 2)
    assert secrets.is_proved(device.secret, told.proved, told.proof)
    assert outcome.spool is not None
    expected = Observation(int(office.now * 1000), observations.DEVICE, MAC, 100, 2, CONTENT)
    assert Observation.parse(outcome.spool) == expected
    assert (entry.last_seen, entry.address, entry.content) == (office.now, HOME, CONTENT)
    assert office.counters == {"reports": 2, "hellos": 1, "enrolled": 1}


def test_a_repeat_is_acknowledged_and_nothing_else_f3(office: Office, device: Device) -> None:
    first = office.answer(device.report(2))
    office.now += 5
    again = office.answer(device.report(2))
    assert again.answer_durable == first.answer_durable
    assert (again.answer_now, again.spool, again.changed, again.events) == (b"", None, None, ())
    assert office.entries[MAC].last_seen == NOW
    assert office.counters["repeats"] == 1


def test_a_repeat_from_elsewhere_is_a_replay_f4(office: Office, device: Device) -> None:
    again = office.answer(device.report(1), address=ELSEWHERE)
    assert [event.kind for event in again.events] == ["replay"]
    assert office.entries[MAC].address == HOME
    assert office.counters["replays"] == 1


def test_a_report_beyond_the_window_is_not_acknowledged_f4(office: Office, device: Device) -> None:
    office.tell(device.report(200))
    late = office.answer(device.report(2))
    assert (late.answer_now, late.answer_durable, late.spool) == (b"", b"", None)
    assert [event.kind for event in late.events] == ["replay"]
    assert office.counters["late"] == 1


def test_a_new_report_that_could_not_be_spooled_may_come_again_f3(
    office: Office, device: Device
) -> None:
    datagram = device.report(2)
    incoming = office.desk.read(datagram, HOME, NOW)
    assert incoming is not None
    office.desk.receive(incoming, copied(office.entries[MAC]), None, None, NOW)
    assert office.answer(datagram).spool is not None


def test_a_wrong_proof_is_refused_and_told_to_say_hello_f4(office: Office, device: Device) -> None:
    device.secret = bytes(32)
    outcome = office.answer(device.report(2))
    told = fault(outcome)
    assert (told.code, told.sender, told.boot, told.sequence) == (UNKNOWN, MAC, 100, 2)
    assert told.proof == b""
    assert (outcome.changed, outcome.spool) == (None, None)
    assert [event.kind for event in outcome.events] == ["forged"]
    assert office.counters["forged"] == 1


@pytest.mark.parametrize("at", [0, 10, 20, 30, 40, 46, 47, 80])
def test_a_proof_covers_every_part_f4(office: Office, device: Device, at: int) -> None:
    bent = bytearray(device.report(2))
    bent[at] ^= 0x02
    outcome = office.tell(bytes(bent))
    assert outcome is None or (outcome.spool is None and outcome.changed is None)


def test_an_unknown_reporter_is_told_to_say_hello_f4(office: Office) -> None:
    outcome = office.answer(Device().report(1))
    assert fault(outcome).code == UNKNOWN
    assert office.counters == {"unknown": 1}


def test_a_proved_report_with_an_old_secret_is_answered_by_the_new_one_f4(
    office: Office, device: Device
) -> None:
    old = device.secret
    office.now += RENEWAL_S
    outcome = office.answer(device.report(2))
    assert tags(outcome.answer_durable) == [ACK]
    assert tags(outcome.answer_now) == [SECRET]
    issue = device.opened(outcome.answer_now)
    assert issue.nonce == (2).to_bytes(8, "big")
    assert issue.hub_ms == int(office.now * 1000)
    assert issue.secret != old
    assert office.answer(device.report(3)).answer_now == b""
    assert office.entries[MAC].generation == issue.generation
    assert office.counters["renewals"] == 1


def test_the_old_secret_is_good_until_the_new_one_is_proved_f4(
    office: Office, device: Device
) -> None:
    for number in range(2, 50):
        office.now += RENEWAL_S
        assert office.answer(device.report(number)).spool is not None


def test_the_old_secret_is_no_good_once_the_new_one_is_proved_f4(
    office: Office, device: Device
) -> None:
    thief = Device()
    thief.secret, thief.generation, thief.boot = device.secret, device.generation, 500
    office.now += RENEWAL_S
    device.opened(office.answer(device.report(2)).answer_now)
    assert office.answer(thief.report(1)).spool is not None  # not proved yet
    device.boot = 501
    office.tell(device.report(3))
    outcome = office.answer(thief.report(2), address=ELSEWHERE)
    assert fault(outcome).code == UNKNOWN
    assert [event.kind for event in outcome.events] == ["old secret"]
    assert office.counters["old_secret"] == 1
    assert office.entries[MAC].address == HOME


def test_a_repeat_with_a_newer_secret_raises_the_generation_f4(
    office: Office, device: Device
) -> None:
    office.now += RENEWAL_S
    issue = device.opened(office.answer(device.report(2)).answer_now)
    again = office.answer(device.report(2))
    assert again.spool is None
    assert again.changed is not None
    assert again.changed.generation == issue.generation


def test_renewals_are_put_off_when_there_are_too_many_f4() -> None:
    office = Office(ReportValidatorSettings(policy="open", renewal_s=RENEWAL_S, renewal_rate=1.0))
    devices = [Device(mac=b"\x02" + number.to_bytes(5, "big")) for number in range(5)]
    for each in devices:
        office.enrol(each)
    office.now += RENEWAL_S
    answers = [office.answer(each.report(2)) for each in devices]
    assert sum(bool(each.answer_now) for each in answers) == 1
    assert all(each.answer_durable for each in answers)
    assert office.counters["renewals_put_off"] == 4


def test_a_secret_of_another_hubs_clock_is_taken_f4(office: Office, device: Device) -> None:
    office.now += RENEWAL_S
    device.opened(office.answer(device.report(2)).answer_now)
    office.now -= RENEWAL_S
    assert office.answer(device.report(3)).spool is not None


def test_a_secret_of_a_far_future_has_the_reporter_say_hello_f4(
    office: Office, device: Device
) -> None:
    office.now += 100 * RENEWAL_S
    device.opened(office.answer(device.report(2)).answer_now)
    office.now -= 100 * RENEWAL_S
    assert fault(office.answer(device.report(3))).code == UNKNOWN
    assert office.counters["ahead"] == 1
    device.opened(office.answer(device.hello_datagram()).answer_now)
    assert office.answer(device.report(4)).spool is not None


def test_an_older_boot_is_told_the_newest_f4(office: Office, device: Device) -> None:
    device.boot = 99
    outcome = office.answer(device.report(7))
    told = fault(outcome)
    assert (told.code, told.boot, told.sequence) == (STALE, 100, 7)
    assert secrets.is_proved(device.secret, told.proved, told.proof)
    assert (outcome.changed, outcome.spool) == (None, None)
    assert office.counters["stale"] == 1


def test_two_boots_that_take_turns_are_clones_f4(office: Office, device: Device) -> None:
    events = []
    for turn in range(4):
        device.boot = 101 + turn
        office.tell(device.report(1))
        device.boot -= 1
        outcome = office.answer(device.report(2))
        assert outcome.changed is office.entries[MAC]
        events += [event.kind for event in outcome.events]
        office.now += 20
    assert events == ["clone"]
    assert office.counters["clones"] == 1
    device.boot = 104
    assert office.answer(device.report(2)).spool is not None


def test_a_newer_secret_takes_a_stolen_lineage_back_f4(office: Office, device: Device) -> None:
    thief = Device()
    thief.secret, thief.generation, thief.boot = device.secret, device.generation, BOOT_SEQUENCE_MAX
    office.tell(thief.report(1))
    assert fault(office.answer(device.report(2))).code == STALE
    office.now += RENEWAL_S
    device.opened(office.answer(device.hello_datagram()).answer_now)
    assert office.answer(device.report(3)).spool is not None
    assert office.entries[MAC].boot == 100


def test_a_wish_is_told_with_the_next_report_and_again_with_its_repeat_f7(
    office: Office, device: Device
) -> None:
    outcome = office.answer(device.report(2), wish=77)
    assert tags(outcome.answer_now) == [CALL]
    assert tags(outcome.answer_durable) == [ACK, CALL]
    call = CallDatagram.parse(tlv.parse_all(outcome.answer_now)[0].value)
    assert (call.wish, call.sequence) == (77, 2)
    assert secrets.is_proved(device.secret, call.proved, call.proof)
    again = office.answer(device.report(2), wish=77)
    assert tags(again.answer_durable) == [ACK, CALL]


def test_a_repeat_too_small_for_it_is_not_told_of_a_wish_f7(office: Office, device: Device) -> None:
    office.tell(device.report(2, b"small"))
    again = office.answer(device.report(2, b"small"), wish=77)
    assert tags(again.answer_durable) == [ACK]


@pytest.mark.parametrize(
    ("tag", "kind"), [(AUDIT, observations.CALLED), (SESSION, observations.SESSION)]
)
def test_servers_report_load_calls_and_sessions_f5_p2(office: Office, tag: int, kind: int) -> None:
    server = Device("server")
    office.enrol(server, code_of("server"))
    office.tell(server.report(2, b"load"))
    outcome = office.answer(server.report(3, b"what happened", tag=tag))
    assert outcome.spool is not None
    assert Observation.parse(outcome.spool).kind == kind
    assert office.entries[server.mac].content == b"load"
    assert Observation.parse(office.spool[-2]).kind == observations.SERVER


def plain(device: Device, number: int, secret: bytes) -> bytes:
    content = encode(DeviceReport(t=1, b=device.boot, n=number))
    return serialize_plain(TELEMETRY, device.mac, secret, content)


def test_plain_secrets_are_refused_unless_allowed_f4(office: Office, device: Device) -> None:
    assert office.tell(plain(device, 2, device.secret)) is None
    assert office.counters["plain_refused"] == 1
    assert office.tell(device.hello().serialize(3075) + plain(device, 2, device.secret)) is None
    assert office.counters["plain_refused"] == 2


def test_plain_secrets_where_they_are_allowed_f4() -> None:
    office = Office(ReportValidatorSettings(policy="open", renewal_s=RENEWAL_S, legacy_plain=True))
    device = Device()
    office.enrol(device)
    outcome = office.answer(plain(device, 2, device.secret))
    assert outcome.spool is not None
    assert tags(outcome.answer_durable) == [ACK]
    assert office.answer(plain(device, 2, device.secret)).spool is None
    assert fault(office.answer(plain(device, 3, bytes(32)))).code == UNKNOWN
    assert office.counters["forged"] == 1


@pytest.mark.parametrize("missed", [1, 2])
def test_plain_secrets_are_renewed_too_f4(missed: int) -> None:
    office = Office(ReportValidatorSettings(policy="open", renewal_s=RENEWAL_S, legacy_plain=True))
    device = Device()
    office.enrol(device)
    old = device.secret
    office.now += RENEWAL_S
    device.opened(office.answer(plain(device, 2, old)).answer_now)
    office.now += (missed - 1) * RENEWAL_S
    assert office.answer(plain(device, 3, old)).spool is not None
    assert office.answer(plain(device, 4, device.secret)).spool is not None
    assert fault(office.answer(plain(device, 5, old))).code == UNKNOWN


def test_what_is_spooled_restores_what_a_crash_took_f2(office: Office, device: Device) -> None:
    flushed = msgspec.msgpack.decode(
        msgspec.msgpack.encode(office.entries[MAC]), type=type(office.entries[MAC])
    )
    for number in (2, 3, 5):
        office.now += 20
        office.tell(device.report(number, b"content %d" % number))
    for entry in (None, flushed):
        for record in office.spool:
            entry = office.desk.restore(Observation.parse(record), entry)
        assert entry is not None
        assert entry.last_seen == office.now
        assert msgspec.structs.replace(entry, address=HOME) == office.entries[MAC]


def test_calls_and_events_in_the_spool_are_no_content_f2(office: Office) -> None:
    server = Device("server")
    office.enrol(server, code_of("server"))
    entry = office.entries[server.mac]
    call = Observation(int(NOW * 1000), observations.CALLED, server.mac, 100, 2, b"call")
    assert office.desk.restore(call, entry) is entry
    assert (entry.sequence, entry.content) == (2, CONTENT)
    session = Observation(int(NOW * 1000), observations.SESSION, server.mac, 100, 3, b"session")
    assert office.desk.restore(session, entry) is entry
    assert (entry.sequence, entry.content) == (3, CONTENT)
    event = Observation(int(NOW * 1000), observations.SECURITY, server.mac, 0, 0, b"event")
    assert office.desk.restore(event, entry) is entry
    assert office.desk.restore(call, None) is None


def test_an_enrolment_that_cannot_be_read_is_as_none_f2(office: Office) -> None:
    unreadable = Observation(0, observations.ENROLLED, MAC, 0, 0, b"of a later version")
    assert office.desk.restore(unreadable, None) is None


def test_the_owner_is_who_can_read_the_claim_code_f15(office: Office, device: Device) -> None:
    entry = office.entries[MAC]
    shown = secrets.claim_code(device.secret)
    assert office.desk.is_claimed(entry, shown.lower(), office.now)
    assert not office.desk.is_claimed(entry, "AAAAAAAAAA", office.now)
    office.now += RENEWAL_S
    device.opened(office.answer(device.report(2)).answer_now)
    assert office.desk.is_claimed(entry, shown, office.now)
    assert office.desk.is_claimed(entry, secrets.claim_code(device.secret), office.now)
