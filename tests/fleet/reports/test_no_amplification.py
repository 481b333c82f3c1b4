"""F4: whoever has not proved anything gets no more bytes than they sent."""

from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.fleet.enrolment.code import EnrolmentCode
from rookery.fleet.reports.report_outcome import ReportOutcome
from rookery.fleet.reports.validator_settings import EnrolmentPolicy, ReportValidatorSettings
from rookery.wire.fleet.datagrams import (
    HelloDatagram,
    report_proved,
    serialize_plain,
    serialize_report,
)
from rookery.wire.fleet.telemetry import DeviceReport, encode
from tests.fleet.reports.validator import ELSEWHERE, MAC, Device, FakeHub, code_of

KNOWN, STRANGER = Device(), Device()
GENEROUS = 1e9  # nothing is limited here, so that everything is answered


def hub_of(policy: EnrolmentPolicy) -> FakeHub:
    hub = FakeHub(
        ReportValidatorSettings(
            policy=policy,
            renewal_s=1000,
            legacy_plain=True,
            address_rate=GENEROUS,
            address_burst=GENEROUS,
            hello_rate=GENEROUS,
            stranger_rate=GENEROUS,
            known_rate=GENEROUS,
        )
    )
    hub.enrol(KNOWN, code_of("router"))
    return hub


OFFICES: dict[EnrolmentPolicy, FakeHub] = {"open": hub_of("open"), "claim": hub_of("claim")}

IDS = st.one_of(st.just(MAC), st.just(KNOWN.mac), st.binary(min_size=6, max_size=6))
TAGS = st.sampled_from([1, 1025, 1027, 2049, 2055, 2056, 3073, 3074, 3075])
U32 = st.integers(0, 2**32 - 1)
LINEAGES = st.integers(0, 2**64 - 1)
CONTENTS = st.binary(max_size=300)


@st.composite
def reports(draw: st.DrawFn) -> bytes:
    proved = report_proved(
        draw(TAGS), draw(IDS), draw(U32), draw(LINEAGES), draw(LINEAGES), draw(CONTENTS)
    )
    return serialize_report(proved, draw(st.binary(min_size=16, max_size=16)))


@st.composite
def plain_reports(draw: st.DrawFn) -> bytes:
    content = encode(DeviceReport(t=1, b=draw(U32), n=draw(U32)))
    return serialize_plain(
        draw(TAGS), draw(IDS), draw(st.binary(min_size=32, max_size=32)), content
    )


@st.composite
def hellos(draw: st.DrawFn) -> bytes:
    device = draw(st.sampled_from([KNOWN, STRANGER]))
    good = device.hello(code=draw(st.booleans()))
    hello = HelloDatagram(
        draw(IDS),
        draw(st.binary(min_size=8, max_size=8)),
        draw(st.one_of(st.just(good.key), st.binary(min_size=64, max_size=64))),
        good.digest,
        good.code_id,
        good.code_proof,
    )
    return draw(st.sampled_from([good, hello])).serialize(draw(TAGS), draw(st.integers(0, 300)))


@st.composite
def bent(draw: st.DrawFn) -> bytes:
    """A good datagram with something changed, so that its proof does not hold."""
    number = draw(st.integers(2, 100))
    data = bytearray(draw(st.sampled_from([KNOWN.report(number), KNOWN.introduction(number)])))
    at = draw(st.integers(len(data) - 60, len(data) - 1))
    data[at] ^= draw(st.integers(1, 255))
    return bytes(data[: draw(st.integers(len(data) - 5, len(data)))])


DATAGRAMS = st.one_of(
    st.binary(max_size=300),
    reports(),
    plain_reports(),
    hellos(),
    st.tuples(hellos(), reports()).map(b"".join),
    bent(),
)
CODES = st.sampled_from([None, code_of("router"), code_of("server")])


def size_of(outcome: ReportOutcome) -> int:
    return len(outcome.answer_now) + len(outcome.answer_durable)


@settings(max_examples=600)
@given(
    DATAGRAMS, st.sampled_from(["open", "claim"]), CODES, st.sampled_from([None, 77]), st.booleans()
)
def test_no_answer_is_larger_than_what_proves_nothing_f4(
    datagram: bytes,
    policy: EnrolmentPolicy,
    code: EnrolmentCode | None,
    wish: int | None,
    is_later: bool,
) -> None:
    hub = OFFICES[policy]
    incoming = hub.validator.read(datagram, ELSEWHERE, hub.now)
    if incoming is None:
        return
    now = hub.now + 5000 * is_later
    entry = hub.entries.get(incoming.sender)
    outcome = hub.validator.receive(incoming, entry, code, wish, now)
    assert outcome.spool is None
    assert not outcome.answer_durable
    assert size_of(outcome) <= len(datagram)


@given(st.binary(max_size=100), st.sampled_from([None, 77]), st.booleans(), st.integers(0, 1))
def test_no_answer_is_larger_than_a_replay_f4(
    content: bytes, wish: int | None, is_later: bool, older: int
) -> None:
    """It was proved once, but may come from anywhere now."""
    hub = OFFICES["open"]
    KNOWN.boot += 1
    datagram = KNOWN.report(1, content)
    hub.tell(datagram)
    KNOWN.boot += older
    hub.tell(KNOWN.report(2))
    hub.now += 5000 * is_later
    outcome = hub.answer(datagram, address=ELSEWHERE, wish=wish)
    hub.now -= 5000 * is_later
    assert outcome.spool is None
    assert size_of(outcome) <= len(datagram)
