"""M7: everything that no rule allows is denied."""

import pytest

from rookery.errors import DeniedError, UsageError
from rookery.link.channels.sock import SockProtocol
from rookery.mesh.proxy.rules import RULES_MAX, ProxyRules
from rookery.wire import base32

ALICE, BOB = (base32.encode(name * 8) for name in (b"alic", b"bobb"))


def test_without_rules_everything_is_denied() -> None:
    rules = ProxyRules()
    with pytest.raises(DeniedError):
        rules.check_serial("meter", ALICE)
    with pytest.raises(DeniedError):
        rules.net.choose(SockProtocol.TCP, "192.0.2.1", ["192.0.2.1"], 80, ALICE)
    with pytest.raises(DeniedError):
        rules.net.listener(SockProtocol.TCP, 0, ALICE)
    assert rules.services(["meter"]) == ()


def test_a_serial_line_is_opened_for_whom_a_rule_names() -> None:
    rules = ProxyRules.parse([f"serial meter from {ALICE}"])
    rules.check_serial("meter", ALICE)
    for name, who in (("meter", BOB), ("modem", ALICE), ("*", ALICE)):
        with pytest.raises(DeniedError):
            rules.check_serial(name, who)


def test_a_star_is_every_line() -> None:
    rules = ProxyRules.parse(["serial *"])
    rules.check_serial("meter", BOB)
    rules.check_serial("modem", ALICE)


def test_rules_of_both_kinds_stand_in_one_list() -> None:
    lines = ["tcp *:443", "serial meter", f"bind tcp 127.0.0.1:* from {BOB}"]
    rules = ProxyRules.parse(lines)
    assert str(rules).splitlines() == [lines[0], lines[2], lines[1]]
    assert rules.net.choose(SockProtocol.TCP, "x", ["192.0.2.1"], 443, ALICE) == "192.0.2.1"
    assert rules.services(["meter", "modem"]) == ("exit:tcp/443", "serial:meter")
    assert rules.services([]) == ("exit:tcp/443",)


@pytest.mark.parametrize(
    "line",
    ["serial", "serial a b", "serial ../x", "serial a from nobody", "serial a for x y", "icmp a:1"],
)
def test_a_rule_that_makes_no_sense_is_a_usage_error(line: str) -> None:
    with pytest.raises(UsageError):
        ProxyRules.parse([line])


def test_rules_are_bounded() -> None:
    with pytest.raises(UsageError):
        ProxyRules.parse(["tcp *:443"] * (RULES_MAX + 1))
