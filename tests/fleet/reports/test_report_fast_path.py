"""F4: the fast path decides as the validator would, or leaves it to the validator."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.fleet.enrolment import secrets
from rookery.fleet.entry import FleetEntry
from rookery.fleet.reports.report_fast_path import ReportFastPath, sender_of
from rookery.wire.fleet.datagrams import BOOT_SEQUENCE_MAX, CONTENT_AT
from rookery.wire.fleet.tags import AUDIT, LOAD
from rookery.wire.fleet.telemetry import CONTENT_SIZE_MAX
from tests.fleet.reports.validator import ELSEWHERE, HOME, MAC, NOW, Device, FakeHub

RENEWAL_S = 1000


@pytest.fixture(scope="module")
def hub() -> FakeHub:
    return FakeHub()


@pytest.fixture(scope="module")
def device(hub: FakeHub) -> Device:
    device = Device()
    hub.enrol(device)
    hub.tell(device.report(2))
    return device


def entry_of(hub: FakeHub) -> FleetEntry:
    return copy.copy(hub.entries[MAC])


def passed(hub: FakeHub, datagram: bytes, entry: FleetEntry) -> ReportFastPath | None:
    """The fast path, if the datagram passed; otherwise nothing may have happened."""
    before, fast_path = copy.copy(entry), hub.validator.fast_path(bytes.decode, hub.now)
    if sender_of(datagram) is not None:
        taken = fast_path.take(datagram, entry, ELSEWHERE.encode())
        if taken is not None:
            assert entry == before
            _equals_the_validator(hub, datagram, entry, taken, fast_path)
            return fast_path
    assert entry == before
    assert not fast_path.records
    assert not fast_path.answers
    return None


def _equals_the_validator(
    hub: FakeHub,
    datagram: bytes,
    entry: FleetEntry,
    taken: FleetEntry,
    fast_path: ReportFastPath,
) -> None:
    incoming = hub.validator.read(datagram, ELSEWHERE, hub.now)
    assert incoming is not None
    assert incoming.sender == sender_of(datagram)
    counted = hub.validator.counters.reports
    outcome = hub.validator.receive(incoming, copy.copy(entry), None, None, hub.now)
    assert hub.validator.counters.reports == counted + 1
    assert outcome.changed == taken
    assert [outcome.spool] == fast_path.records
    assert [outcome.answer_durable] == fast_path.answers
    assert (outcome.answer_now, outcome.events, outcome.enrolled) == (b"", (), None)


@pytest.mark.parametrize("ahead", [1, 2, 62, 63, 64, 1000, BOOT_SEQUENCE_MAX - 2])
def test_a_good_report_passes_as_the_validator_would_take_it(
    hub: FakeHub, device: Device, ahead: int
) -> None:
    entry = entry_of(hub)
    assert passed(hub, device.report(entry.sequence + ahead), entry)


@pytest.mark.parametrize("size", [0, 1, 198, CONTENT_SIZE_MAX])
def test_it_may_have_any_size_that_a_report_has(hub: FakeHub, device: Device, size: int) -> None:
    assert passed(hub, device.report(3, bytes(size)), entry_of(hub))


def test_each_may_build_on_the_one_before(hub: FakeHub, device: Device) -> None:
    """A window that is full stays as it is."""
    entry, fast_path = entry_of(hub), hub.validator.fast_path(bytes.decode, NOW)
    for sequence in range(3, 80):
        taken = fast_path.take(device.report(sequence), entry, ELSEWHERE.encode())
        assert taken is not None
        _equals_the_validator(hub, device.report(sequence), entry, taken, _last(fast_path, hub))
        entry = taken
    assert len(fast_path.records) == len(fast_path.answers) == 77


def _last(fast_path: ReportFastPath, hub: FakeHub) -> ReportFastPath:
    last = hub.validator.fast_path(bytes.decode, hub.now)
    last.records.append(fast_path.records[-1])
    last.answers.append(fast_path.answers[-1])
    return last


def test_what_came_before_is_for_the_validator(hub: FakeHub, device: Device) -> None:
    for sequence in (0, 1, 2):
        assert passed(hub, device.report(sequence), entry_of(hub)) is None
    assert passed(hub, device.report(BOOT_SEQUENCE_MAX + 1), entry_of(hub)) is None


@pytest.mark.parametrize("boot", [1, 99, 101])
def test_another_boot_is_for_the_validator(hub: FakeHub, device: Device, boot: int) -> None:
    other = copy.copy(device)
    other.boot = boot
    assert passed(hub, other.report(3), entry_of(hub)) is None


def test_another_generation_is_for_the_validator(hub: FakeHub, device: Device) -> None:
    for change in (-1, 1):
        entry = entry_of(hub)
        entry.generation += change
        assert passed(hub, device.report(3), entry) is None


def test_another_name_is_for_the_validator(hub: FakeHub, device: Device) -> None:
    """The secret that is kept is of the name that it was derived for."""
    entry = entry_of(hub)
    entry.hashname = Device().identity.hashname
    assert passed(hub, device.report(3), entry) is None


def test_a_secret_that_is_not_at_hand_is_for_the_validator(hub: FakeHub, device: Device) -> None:
    assert passed(FakeHub(), device.report(3), entry_of(hub)) is None


def test_a_secret_that_is_to_be_renewed_is_for_the_validator(hub: FakeHub, device: Device) -> None:
    fast_path = hub.validator.fast_path(bytes.decode, device.generation + RENEWAL_S)
    assert fast_path.take(device.report(3), entry_of(hub), ELSEWHERE.encode()) is None
    fast_path = hub.validator.fast_path(bytes.decode, device.generation + RENEWAL_S - 0.001)
    assert fast_path.take(device.report(3), entry_of(hub), ELSEWHERE.encode()) is not None


def test_it_was_heard_from_where_it_was_heard_last(hub: FakeHub, device: Device) -> None:
    entry, fast_path = entry_of(hub), hub.validator.fast_path(bytes.decode, NOW)
    for sequence, address in enumerate((HOME, HOME, ELSEWHERE, HOME), start=3):
        taken = fast_path.take(device.report(sequence), entry, address.encode())
        assert taken is not None
        assert taken.address == address
        entry = taken


@pytest.mark.parametrize("tag", [LOAD, AUDIT])
def test_what_servers_say_is_for_the_validator(device: Device, tag: int) -> None:
    assert sender_of(device.report(3, tag=tag)) is None


def test_the_name_of_a_server_is_for_the_validator(device: Device) -> None:
    datagram = bytearray(device.report(3))
    datagram[5] |= 0x01
    assert sender_of(bytes(datagram)) is None


@given(st.binary(max_size=2 * CONTENT_AT))
def test_arbitrary_bytes_have_a_sender_or_none(datagram: bytes) -> None:
    assert sender_of(datagram) in (None, datagram[5:11])


@given(at=st.integers(0, 10**6), flipped=st.integers(1, 255))
def test_one_changed_byte_anywhere_keeps_a_report_from_passing(
    hub: FakeHub, device: Device, at: int, flipped: int
) -> None:
    datagram = bytearray(device.report(3))
    datagram[at % len(datagram)] ^= flipped
    assert passed(hub, bytes(datagram), entry_of(hub)) is None


@given(cut=st.integers(1, 200), added=st.binary(max_size=3))
def test_a_report_that_is_cut_or_longer_than_it_says_does_not_pass(
    hub: FakeHub, device: Device, cut: int, added: bytes
) -> None:
    datagram = device.report(3)
    assert passed(hub, datagram[:-cut], entry_of(hub)) is None
    if added:
        assert passed(hub, datagram + added, entry_of(hub)) is None


def test_a_proof_by_another_secret_does_not_pass(hub: FakeHub, device: Device) -> None:
    other = copy.copy(device)
    other.secret = secrets.derive(bytes(32), MAC, bytes(32), 1)
    assert passed(hub, other.report(3), entry_of(hub)) is None
