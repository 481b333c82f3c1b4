"""Commands to the broker (C8), answered as the C++ broker answers."""

import pytest

from rookery.crow.limits import BrokerLimits, ThemeLimits
from rookery.crow.pubsub.broker import Broker
from rookery.crow.pubsub.commands import ANSWER_SIZE_MAX, readable
from rookery.crow.pubsub.orders import BrokerClient
from rookery.wire.crow.pubsub import Subscribe

ALICE = BrokerClient(bytes.fromhex("0c7f0000011be5"), 98)


@pytest.fixture
def broker() -> Broker:
    broker = Broker(0.0)
    for data in (b"one", b"two\n", b"\x00\\\xd0\t\r"):
        broker.publish(b"lat", data, 0.0)
    broker.received(ALICE, Subscribe(b"lat", 1, 100).serialize(), 0.0)
    return broker


def test_themes_are_listed_by_name_with_their_subscribers(broker: Broker) -> None:
    answer = b"name:crowker/control count_of_subs:1\nname:lat count_of_subs:1\n"
    assert broker.command(b"themes") == answer


def test_theme_names(broker: Broker) -> None:
    assert broker.command(b"theme-names\n") == b"crowker/control\nlat\n"


def test_clients_are_named_by_where_they_are(broker: Broker) -> None:
    broker.received_legacy(ALICE.address, Subscribe(b"lat", 1, 100).serialize_legacy(), 0.0)
    assert broker.command(b"clients") == (
        b"name:.12.127.0.0.1:7141 node:98\nname:.12.127.0.0.1:7141\n"
    )


def test_the_last_messages_come_newest_first_and_readable(broker: Broker) -> None:
    assert broker.command(b"last lat") == rb"\x00\\\xD0\t\r" + b"\n"
    assert broker.command(b"last lat 2") == b"\\x00\\\\\\xD0\\t\\r\ntwo\\n\n"
    assert broker.command(b"last nothing 2") == b""


def test_the_queue_size_can_be_set(broker: Broker) -> None:
    assert broker.command(b"queue-size lat 1") == b""
    assert broker.command(b"last lat 9").count(b"\n") == 1
    assert broker.command(b"queue-size nothing 1") == b""


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        (b"last", b"Usage: last THEME [SIZE]\n"),
        (b"queue-size lat", b"Usage: queue-size THEME SIZE\n"),
        (b"last lat -1", b"-1 is not a number\n"),
        (b"queue-size lat 99999999999", b"99999999999 is not a number\n"),
        (b"queue-size lat 100001", b"a theme remembers 0 to 100000 messages\n"),
    ],
)
def test_a_wrong_command_gets_an_error(broker: Broker, command: bytes, answer: bytes) -> None:
    assert broker.command(command) == answer


@pytest.mark.parametrize("command", [b"", b"help", b"Themes", b"\xff\x00"])
def test_anything_else_is_answered_with_nothing(broker: Broker, command: bytes) -> None:
    assert broker.command(command) == b""


def test_a_name_cannot_forge_a_line() -> None:
    broker = Broker(0.0)
    broker.publish(b"a\nname:b", b"", 0.0)
    assert broker.command(b"theme-names") == b"a\\nname:b\ncrowker/control\n"


def test_a_long_answer_is_cut_between_lines() -> None:
    broker = Broker(0.0, BrokerLimits(themes=ThemeLimits(themes_max=1000)))
    for number in range(999):
        broker.publish(b"%0200d" % number, b"", 0.0)
    answer = broker.command(b"theme-names")
    assert len(answer) <= ANSWER_SIZE_MAX
    *lines, last, rest = answer.split(b"\n")
    assert {len(line) for line in lines} == {200}
    assert (last, rest) == (b"...", b"")


def test_readable_text_stays_as_it_is() -> None:
    assert readable(b"name:0VGGcQRIHb count_of_subs:1 ~") == "name:0VGGcQRIHb count_of_subs:1 ~"
    assert readable(bytes([0x1F, 0x7F, 0xFF])) == r"\x1F\x7F\xFF"
