"""F1, F4: which datagrams the hub looks at."""

import pytest

from rookery.fleet.reports.validator_settings import ReportValidatorSettings
from rookery.wire.fleet.datagrams import NO_CODE_ID
from rookery.wire.fleet.tags import HELLO, LOAD, SERVER_HELLO, TELEMETRY
from tests.fleet.reports.validator import HOME, MAC, NOW, Device, FakeHub


def test_a_report_names_its_sender_f3() -> None:
    incoming = FakeHub().validator.read(Device().report(5), HOME, NOW)
    assert incoming is not None
    assert (incoming.sender, incoming.kind, incoming.address) == (MAC, "router", HOME)
    assert incoming.code_id is None
    assert incoming.report is not None
    assert incoming.size == len(Device().report(5))


def test_a_hello_names_its_code_f4() -> None:
    hub, device = FakeHub(), Device()
    with_code = hub.validator.read(device.hello_datagram(code=True), HOME, NOW)
    without = hub.validator.read(device.hello_datagram(), HOME, NOW)
    assert with_code is not None
    assert without is not None
    assert with_code.code_id not in (None, NO_CODE_ID)
    assert without.code_id is None
    assert without.report is None


DEVICE, SERVER = Device(), Device("server")
OTHER = Device(mac=b"\x02\xfc\x00\x00\x00\x09")


@pytest.mark.parametrize(
    "datagram",
    [
        DEVICE.hello().serialize(HELLO, 191),
        DEVICE.hello().serialize(SERVER_HELLO, 192),
        SERVER.hello().serialize(HELLO, 192),
        SERVER.hello()._replace(sender=b"\x03router"[:6]).serialize(SERVER_HELLO, 192),
        DEVICE.hello()._replace(sender=bytes(6)).serialize(HELLO, 192),
        DEVICE.report(1, tag=LOAD),
        SERVER.report(1, tag=TELEMETRY),
        DEVICE.hello().serialize(HELLO) + OTHER.report(1),
        DEVICE.hello().serialize(HELLO) + SERVER.report(1),
        DEVICE.hello().serialize(HELLO) * 2,
        DEVICE.introduction(1) + DEVICE.report(2),
        DEVICE.report(1) + DEVICE.hello().serialize(HELLO),
        DEVICE.report(1)[:-1],
        DEVICE.report(1) + b"\0",
        b"",
        bytes(2000),
    ],
    ids=range(16),
)
def test_everything_else_is_malformed_f1(datagram: bytes) -> None:
    hub = FakeHub()
    assert hub.tell(datagram) is None
    assert hub.counters == {"malformed": 1}


def test_first_contacts_from_one_address_are_bounded_f4() -> None:
    hub, device = (
        FakeHub(ReportValidatorSettings(policy="open", address_rate=1.0, address_burst=10.0)),
        Device(),
    )
    datagrams = [device.hello_datagram(), device.introduction(1)] * 500
    looked_at = sum(hub.tell(each) is not None for each in datagrams)
    assert looked_at == 10
    assert hub.counters["limited"] == 990
    assert hub.tell(device.hello_datagram(), address="198.51.100.1:1") is not None
