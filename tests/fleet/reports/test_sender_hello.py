"""F4: when a sender says hello."""

import random
from itertools import pairwise

from rookery.fleet.reports.sender_hello import SenderHello
from rookery.fleet.reports.sender_limits import SenderLimits
from rookery.wire.fleet import tlv
from rookery.wire.fleet.datagrams import HELLO_DATAGRAM_SIZE_MIN, HelloDatagram
from rookery.wire.fleet.tags import HELLO, SERVER_HELLO
from tests.fleet.reports.validator import CODE, CODE_KEY, MAC
from tests.fleet.senders import identity_of

RANDOM = random.Random(3)
IDENTITY = identity_of(RANDOM.randbytes)


def greeting(code: str | None = None) -> SenderHello:
    limits = SenderLimits(hello_s=1.0, hello_max_s=60.0)
    return SenderHello(IDENTITY, MAC, "router", code, limits, RANDOM.randbytes)


def times(hello: SenderHello, end: float) -> list[float]:
    """When it is said, if nobody answers."""
    found = []
    while (deadline := hello.deadline) is not None and deadline < end:
        assert hello.due(deadline - 0.001) is None
        assert hello.due(deadline) is not None
        found.append(deadline)
    return found


def test_nothing_is_said_without_need() -> None:
    hello = greeting()
    assert hello.deadline is None
    assert hello.nonce is None
    assert hello.due(100.0) is None


def test_a_hello_is_said_at_once_and_then_ever_more_rarely_f4() -> None:
    hello = greeting()
    hello.want(10.0)
    said = times(hello, 1000.0)
    assert said[0] == 10.0
    gaps = [later - earlier for earlier, later in pairwise(said)]
    assert 0.75 <= gaps[0] <= 1.25
    assert 45.0 <= gaps[-1] <= 75.0
    assert 15 < len(said) < 30


def test_whoever_claims_that_we_are_unknown_costs_us_little_f4() -> None:
    """A secret comes every time, and no report is ever acknowledged."""
    hello, said = greeting(), 0
    for tenth in range(36_000):
        hello.want(tenth / 10)
        if hello.due(tenth / 10) is not None:
            said += 1
            hello.answered()
    assert said < 100


def test_an_acknowledged_report_makes_the_next_hello_immediate_again_f4() -> None:
    hello = greeting()
    hello.want(0.0)
    times(hello, 500.0)
    hello.answered()
    hello.enrolled()
    hello.want(600.0)
    assert hello.deadline == 600.0


def test_each_need_has_its_own_nonce_f4() -> None:
    hello = greeting()
    hello.want(0.0)
    first = hello.nonce
    hello.want(1.0)
    assert hello.nonce == first
    hello.answered()
    hello.want(2.0)
    assert hello.nonce not in (None, first)


def test_who_was_refused_asks_rarely_f4() -> None:
    hello = greeting()
    hello.want(0.0)
    hello.due(0.0)
    hello.refused(0.1)
    assert hello.deadline is not None
    assert hello.deadline > 40.0


def test_the_words_of_a_hello_f4() -> None:
    hello = greeting(CODE)
    hello.want(0.0)
    datagram = hello.due(0.0)
    assert datagram is not None
    assert len(datagram) == HELLO_DATAGRAM_SIZE_MIN
    (only,) = tlv.parse_all(datagram)
    assert only.tag == HELLO
    said = HelloDatagram.parse(only.value)
    assert said.sender == MAC
    assert said.nonce == hello.nonce
    assert said.key == IDENTITY.keys[0x40]
    assert said.code_id == CODE_KEY[:8]
    assert HelloDatagram.parse(hello.introduction()[4:]) == said


def test_a_server_has_its_own_hello_f5() -> None:
    hello = SenderHello(IDENTITY, MAC, "server", None, SenderLimits(), RANDOM.randbytes)
    (only,) = tlv.parse_all(hello.introduction())
    assert only.tag == SERVER_HELLO


def test_a_hello_is_refused_once_however_often_that_is_said_f4() -> None:
    hello = greeting()
    hello.want(0.0)
    assert hello.due(0.0) is not None
    assert [hello.is_first_refusal() for _ in range(3)] == [True, False, False]
    hello.refused(0.0)
    assert hello.due(100.0) is not None
    assert hello.is_first_refusal()
