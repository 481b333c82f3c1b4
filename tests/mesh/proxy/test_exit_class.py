"""M8: what exits say of themselves, in the room a record has."""

import pytest

from rookery.link.channels.sock import SockProtocol
from rookery.link.channels.sock_rules import SockRule
from rookery.mesh.proxy.exit_class import classes, offers, serial_class
from rookery.mesh.proxy.opening import NetTarget, SerialTarget
from rookery.wire.mesh.record import SERVICE_SIZE_MAX, SERVICES_MAX

WEB = NetTarget(SockProtocol.TCP, "a", 443)
DNS = NetTarget(SockProtocol.UDP, "a", 53)
LONG = "usb-Some_Maker_FT232R_USB_UART_A50285BI-if00-port0"


@pytest.mark.parametrize("word", ["exit", "exit:tcp", "exit:tcp/443", "exit:tcp/440-450"])
def test_a_class_offers_what_it_covers(word: str) -> None:
    assert offers(word, WEB)


@pytest.mark.parametrize(
    "word",
    ["", "exit:udp", "exit:tcp/80", "exit:tcp/1-442", "exit:tcp/x", "exit:udp/443", "exits", "hub"],
)
def test_a_class_offers_nothing_else(word: str) -> None:
    assert not offers(word, WEB)


def test_serial_lines_are_offered_by_name() -> None:
    assert offers("serial:meter", SerialTarget("meter", 9600))
    assert offers("serial", SerialTarget("meter"))
    assert not offers("serial:meter2", SerialTarget("meter"))
    assert not offers("exit", SerialTarget("meter"))
    assert not offers("serial", DNS)


def test_a_long_name_fits_a_record_as_a_digest() -> None:
    word = serial_class(LONG)
    assert len(word) <= SERVICE_SIZE_MAX
    assert offers(word, SerialTarget(LONG))
    assert word != serial_class(LONG + "1")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], ()),
        (["tcp *:*", "udp *:*"], ("exit",)),
        (["tcp *:*"], ("exit:tcp",)),
        (["tcp *:443", "tcp 10.0.0.0/8:440-442", "udp *:53"], ("exit:tcp/440-443", "exit:udp/53")),
        (["tcp *:1-9", "tcp *:2", "tcp *:11"], ("exit:tcp/1-9", "exit:tcp/11")),
        (["bind tcp 127.0.0.1:*"], ()),
    ],
)
def test_classes_follow_from_the_rules(lines: list[str], words: tuple[str, ...]) -> None:
    assert classes(map(SockRule.parse, lines)) == words


def test_too_many_classes_become_coarser_ones() -> None:
    rules = [SockRule.parse(f"tcp *:{port}") for port in range(1, 40, 2)]
    assert classes(rules) == ("exit:tcp",)
    assert classes(rules, ["meter"]) == ("exit:tcp", "serial:meter")
    names = [f"line{number}" for number in range(20)]
    assert classes(rules, names) == ("exit:tcp", "serial")
    # One place is for the word of those who answer probes.
    assert len(classes(rules, names[: SERVICES_MAX - 2])) == SERVICES_MAX - 1
    assert classes(rules, names, room=1) == ()
