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
    FakeHub,
    code_of,
    fault,
)

RENEWAL_S = 1000


@pytest.fixture
def hub() -> FakeHub:
    return FakeHub(ReportValidatorSettings(policy="open", renewal_s=RENEWAL_S))


@pytest.fixture
def device(hub: FakeHub) -> Device:
    """Has enrolled, with its report number 1."""
    device = Device()
    hub.enrol(device)
    return device


def tags(answer: bytes) -> list[int]:
    return [each.tag for each in tlv.parse_all(answer)]


def test_a_new_report_is_spooled_and_acknowledged_once_durable_f3(
    hub: FakeHub, device: Device
) -> None:
    hub.now += 20.5
    outcome = hub.answer(device.report(2))
    entry = hub.entries[MAC]
    assert outcome.changed is entry
    assert outcome.answer_now == b""
    (ack,) = tlv.parse_all(outcome.answer_durable)
    assert ack.tag == ACK
    told = AckDatagram.parse(ack.value)
    assert (told.sender, told.boot, told.sequence) == (MAC, 100, 2)
    assert secrets.is_proved(device.secret, told.proved, told.proof)
    assert outcome.spool is not None
    expected = Observation(int(hub.now * 1000), observations.DEVICE, MAC, 100, 2, CONTENT)
    assert Observation.parse(outcome.spool) == expected
    assert (entry.last_seen, entry.address, entry.content) == (hub.now, HOME, CONTENT)
    assert hub.counters == {"reports": 2, "hellos": 1, "enrolled": 1}


def test_a_repeat_is_acknowledged_and_nothing_else_f3(hub: FakeHub, device: Device) -> None:
    first = hub.answer(device.report(2))
    hub.now += 5
    again = hub.answer(device.report(2))
    assert again.answer_durable == first.answer_durable
    assert (again.answer_now, again.spool, again.changed, again.events) == (b"", None, None, ())
    assert hub.entries[MAC].last_seen == NOW
    assert hub.counters["repeats"] == 1


def test_a_repeat_from_elsewhere_is_a_replay_f4(hub: FakeHub, device: Device) -> None:
    again = hub.answer(device.report(1), address=ELSEWHERE)
    assert [event.kind for event in again.events] == ["replay"]
    assert hub.entries[MAC].address == HOME
    assert hub.counters["replays"] == 1


def test_a_report_beyond_the_window_is_not_acknowledged_f4(hub: FakeHub, device: Device) -> None:
    hub.tell(device.report(200))
    late = hub.answer(device.report(2))
    assert (late.answer_now, late.answer_durable, late.spool) == (b"", b"", None)
    assert [event.kind for event in late.events] == ["replay"]
    assert hub.counters["late"] == 1


def test_a_new_report_that_could_not_be_spooled_may_come_again_f3(
    hub: FakeHub, device: Device
) -> None:
    datagram = device.report(2)
    incoming = hub.validator.read(datagram, HOME, NOW)
    assert incoming is not None
    hub.validator.receive(incoming, copied(hub.entries[MAC]), None, None, NOW)
    assert hub.answer(datagram).spool is not None


def test_a_wrong_proof_is_refused_and_told_to_say_hello_f4(hub: FakeHub, device: Device) -> None:
    device.secret = bytes(32)
    outcome = hub.answer(device.report(2))
    told = fault(outcome)
    assert (told.code, told.sender, told.boot, told.sequence) == (UNKNOWN, MAC, 100, 2)
    assert told.proof == b""
    assert (outcome.changed, outcome.spool) == (None, None)
    assert [event.kind for event in outcome.events] == ["forged"]
    assert hub.counters["forged"] == 1


@pytest.mark.parametrize("at", [0, 10, 20, 30, 40, 46, 47, 80])
def test_a_proof_covers_every_part_f4(hub: FakeHub, device: Device, at: int) -> None:
    bent = bytearray(device.report(2))
    bent[at] ^= 0x02
    outcome = hub.tell(bytes(bent))
    assert outcome is None or (outcome.spool is None and outcome.changed is None)


def test_an_unknown_sender_is_told_to_say_hello_f4(hub: FakeHub) -> None:
    outcome = hub.answer(Device().report(1))
    assert fault(outcome).code == UNKNOWN
    assert hub.counters == {"unknown": 1}


def test_a_proved_report_with_an_old_secret_is_answered_by_the_new_one_f4(
    hub: FakeHub, device: Device
) -> None:
    old = device.secret
    hub.now += RENEWAL_S
    outcome = hub.answer(device.report(2))
    assert tags(outcome.answer_durable) == [ACK]
    assert tags(outcome.answer_now) == [SECRET]
    issue = device.opened(outcome.answer_now)
    assert issue.nonce == (2).to_bytes(8, "big")
    assert issue.hub_ms == int(hub.now * 1000)
    assert issue.secret != old
    assert hub.answer(device.report(3)).answer_now == b""
    assert hub.entries[MAC].generation == issue.generation
    assert hub.counters["renewals"] == 1


def test_the_old_secret_is_good_until_the_new_one_is_proved_f4(
    hub: FakeHub, device: Device
) -> None:
    for number in range(2, 50):
        hub.now += RENEWAL_S
        assert hub.answer(device.report(number)).spool is not None


def test_the_old_secret_is_no_good_once_the_new_one_is_proved_f4(
    hub: FakeHub, device: Device
) -> None:
    thief = Device()
    thief.secret, thief.generation, thief.boot = device.secret, device.generation, 500
    hub.now += RENEWAL_S
    device.opened(hub.answer(device.report(2)).answer_now)
    assert hub.answer(thief.report(1)).spool is not None  # not proved yet
    device.boot = 501
    hub.tell(device.report(3))
    outcome = hub.answer(thief.report(2), address=ELSEWHERE)
    assert fault(outcome).code == UNKNOWN
    assert [event.kind for event in outcome.events] == ["old secret"]
    assert hub.counters["old_secret"] == 1
    assert hub.entries[MAC].address == HOME


def test_a_repeat_with_a_newer_secret_raises_the_generation_f4(
    hub: FakeHub, device: Device
) -> None:
    hub.now += RENEWAL_S
    issue = device.opened(hub.answer(device.report(2)).answer_now)
    again = hub.answer(device.report(2))
    assert again.spool is None
    assert again.changed is not None
    assert again.changed.generation == issue.generation


def test_renewals_are_put_off_when_there_are_too_many_f4() -> None:
    hub = FakeHub(ReportValidatorSettings(policy="open", renewal_s=RENEWAL_S, renewal_rate=1.0))
    devices = [Device(mac=b"\x02" + number.to_bytes(5, "big")) for number in range(5)]
    for each in devices:
        hub.enrol(each)
    hub.now += RENEWAL_S
    answers = [hub.answer(each.report(2)) for each in devices]
    assert sum(bool(each.answer_now) for each in answers) == 1
    assert all(each.answer_durable for each in answers)
    assert hub.counters["renewals_put_off"] == 4


def test_a_secret_of_another_hubs_clock_is_taken_f4(hub: FakeHub, device: Device) -> None:
    hub.now += RENEWAL_S
    device.opened(hub.answer(device.report(2)).answer_now)
    hub.now -= RENEWAL_S
    assert hub.answer(device.report(3)).spool is not None


def test_a_secret_of_a_far_future_has_the_sender_say_hello_f4(hub: FakeHub, device: Device) -> None:
    hub.now += 100 * RENEWAL_S
    device.opened(hub.answer(device.report(2)).answer_now)
    hub.now -= 100 * RENEWAL_S
    assert fault(hub.answer(device.report(3))).code == UNKNOWN
    assert hub.counters["ahead"] == 1
    device.opened(hub.answer(device.hello_datagram()).answer_now)
    assert hub.answer(device.report(4)).spool is not None


def test_an_older_boot_is_told_the_newest_f4(hub: FakeHub, device: Device) -> None:
    device.boot = 99
    outcome = hub.answer(device.report(7))
    told = fault(outcome)
    assert (told.code, told.boot, told.sequence) == (STALE, 100, 7)
    assert secrets.is_proved(device.secret, told.proved, told.proof)
    assert (outcome.changed, outcome.spool) == (None, None)
    assert hub.counters["stale"] == 1


def test_two_boots_that_take_turns_are_clones_f4(hub: FakeHub, device: Device) -> None:
    events = []
    for turn in range(4):
        device.boot = 101 + turn
        hub.tell(device.report(1))
        device.boot -= 1
        outcome = hub.answer(device.report(2))
        assert outcome.changed is hub.entries[MAC]
        events += [event.kind for event in outcome.events]
        hub.now += 20
    assert events == ["clone"]
    assert hub.counters["clones"] == 1
    device.boot = 104
    assert hub.answer(device.report(2)).spool is not None


def test_a_newer_secret_takes_a_stolen_replay_window_back_f4(hub: FakeHub, device: Device) -> None:
    thief = Device()
    thief.secret, thief.generation, thief.boot = device.secret, device.generation, BOOT_SEQUENCE_MAX
    hub.tell(thief.report(1))
    assert fault(hub.answer(device.report(2))).code == STALE
    hub.now += RENEWAL_S
    device.opened(hub.answer(device.hello_datagram()).answer_now)
    assert hub.answer(device.report(3)).spool is not None
    assert hub.entries[MAC].boot == 100


def test_a_wish_is_told_with_the_next_report_and_again_with_its_repeat_f7(
    hub: FakeHub, device: Device
) -> None:
    outcome = hub.answer(device.report(2), wish=77)
    assert tags(outcome.answer_now) == [CALL]
    assert tags(outcome.answer_durable) == [ACK, CALL]
    call = CallDatagram.parse(tlv.parse_all(outcome.answer_now)[0].value)
    assert (call.wish, call.sequence) == (77, 2)
    assert secrets.is_proved(device.secret, call.proved, call.proof)
    again = hub.answer(device.report(2), wish=77)
    assert tags(again.answer_durable) == [ACK, CALL]


def test_a_repeat_too_small_for_it_is_not_told_of_a_wish_f7(hub: FakeHub, device: Device) -> None:
    hub.tell(device.report(2, b"small"))
    again = hub.answer(device.report(2, b"small"), wish=77)
    assert tags(again.answer_durable) == [ACK]


@pytest.mark.parametrize(
    ("tag", "kind"), [(AUDIT, observations.CALLED), (SESSION, observations.SESSION)]
)
def test_servers_report_load_calls_and_sessions_f5_p2(hub: FakeHub, tag: int, kind: int) -> None:
    server = Device("server")
    hub.enrol(server, code_of("server"))
    hub.tell(server.report(2, b"load"))
    outcome = hub.answer(server.report(3, b"what happened", tag=tag))
    assert outcome.spool is not None
    assert Observation.parse(outcome.spool).kind == kind
    assert hub.entries[server.mac].content == b"load"
    assert Observation.parse(hub.spool[-2]).kind == observations.SERVER


def plain(device: Device, number: int, secret: bytes) -> bytes:
    content = encode(DeviceReport(t=1, b=device.boot, n=number))
    return serialize_plain(TELEMETRY, device.mac, secret, content)


def test_plain_secrets_are_refused_unless_allowed_f4(hub: FakeHub, device: Device) -> None:
    assert hub.tell(plain(device, 2, device.secret)) is None
    assert hub.counters["plain_refused"] == 1
    assert hub.tell(device.hello().serialize(3075) + plain(device, 2, device.secret)) is None
    assert hub.counters["plain_refused"] == 2


def test_plain_secrets_where_they_are_allowed_f4() -> None:
    hub = FakeHub(ReportValidatorSettings(policy="open", renewal_s=RENEWAL_S, legacy_plain=True))
    device = Device()
    hub.enrol(device)
    outcome = hub.answer(plain(device, 2, device.secret))
    assert outcome.spool is not None
    assert tags(outcome.answer_durable) == [ACK]
    assert hub.answer(plain(device, 2, device.secret)).spool is None
    assert fault(hub.answer(plain(device, 3, bytes(32)))).code == UNKNOWN
    assert hub.counters["forged"] == 1


@pytest.mark.parametrize("missed", [1, 2])
def test_plain_secrets_are_renewed_too_f4(missed: int) -> None:
    hub = FakeHub(ReportValidatorSettings(policy="open", renewal_s=RENEWAL_S, legacy_plain=True))
    device = Device()
    hub.enrol(device)
    old = device.secret
    hub.now += RENEWAL_S
    device.opened(hub.answer(plain(device, 2, old)).answer_now)
    hub.now += (missed - 1) * RENEWAL_S
    assert hub.answer(plain(device, 3, old)).spool is not None
    assert hub.answer(plain(device, 4, device.secret)).spool is not None
    assert fault(hub.answer(plain(device, 5, old))).code == UNKNOWN


def test_what_is_spooled_restores_what_a_crash_took_f2(hub: FakeHub, device: Device) -> None:
    flushed = msgspec.msgpack.decode(
        msgspec.msgpack.encode(hub.entries[MAC]), type=type(hub.entries[MAC])
    )
    for number in (2, 3, 5):
        hub.now += 20
        hub.tell(device.report(number, b"content %d" % number))
    for entry in (None, flushed):
        for record in hub.spool:
            entry = hub.validator.restore(Observation.parse(record), entry)
        assert entry is not None
        assert entry.last_seen == hub.now
        assert msgspec.structs.replace(entry, address=HOME) == hub.entries[MAC]


def test_calls_and_events_in_the_spool_are_no_content_f2(hub: FakeHub) -> None:
    server = Device("server")
    hub.enrol(server, code_of("server"))
    entry = hub.entries[server.mac]
    call = Observation(int(NOW * 1000), observations.CALLED, server.mac, 100, 2, b"call")
    assert hub.validator.restore(call, entry) is entry
    assert (entry.sequence, entry.content) == (2, CONTENT)
    session = Observation(int(NOW * 1000), observations.SESSION, server.mac, 100, 3, b"session")
    assert hub.validator.restore(session, entry) is entry
    assert (entry.sequence, entry.content) == (3, CONTENT)
    event = Observation(int(NOW * 1000), observations.SECURITY, server.mac, 0, 0, b"event")
    assert hub.validator.restore(event, entry) is entry
    assert hub.validator.restore(call, None) is None


def test_an_enrolment_that_cannot_be_read_is_as_none_f2(hub: FakeHub) -> None:
    unreadable = Observation(0, observations.ENROLLED, MAC, 0, 0, b"of a later version")
    assert hub.validator.restore(unreadable, None) is None


def test_the_owner_is_who_can_read_the_claim_code_f15(hub: FakeHub, device: Device) -> None:
    entry = hub.entries[MAC]
    shown = secrets.claim_code(device.secret)
    assert hub.validator.is_claimed(entry, shown.lower(), hub.now)
    assert not hub.validator.is_claimed(entry, "AAAAAAAAAA", hub.now)
    hub.now += RENEWAL_S
    device.opened(hub.answer(device.report(2)).answer_now)
    assert hub.validator.is_claimed(entry, shown, hub.now)
    assert hub.validator.is_claimed(entry, secrets.claim_code(device.secret), hub.now)
