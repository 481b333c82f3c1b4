"""T3: who may make us open which socket."""

from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DeniedError, UsageError
from rookery.link.channels.sock import SockProtocol
from rookery.link.channels.sock_rules import Rules, SockListener, SockRule, plain_address

TCP, UDP = SockProtocol.TCP, SockProtocol.UDP
ALICE = "jvdoio6kjvf3yqnxfvck43twaibbg4pmb7y3mqnvxafb26rqllwa"
BOB = "echmb6eke2f6z2mqdwifrt6i6hkkfua7hiisgrms6pwttd6jubiq"


def allows(
    lines: list[str],
    host: str,
    port: int,
    *,
    protocol: SockProtocol = TCP,
    resolved: str | None = None,
) -> bool:
    try:
        Rules.parse(lines).choose(protocol, host, [resolved or host], port, ALICE)
    except DeniedError:
        return False
    return True


def test_nothing_is_allowed_without_a_rule() -> None:
    assert not allows([], "192.0.2.1", 80)
    assert not Rules().admits_question(TCP, 80, ALICE)
    with pytest.raises(DeniedError):
        Rules().listener(TCP, 80, ALICE)


def test_a_rule_fits_by_protocol_address_and_port() -> None:
    rules = ["tcp 127.0.0.1:8080", "udp 10.0.0.0/8:53", "tcp [fd00::]/8:1-9"]
    assert allows(rules, "127.0.0.1", 8080)
    assert not allows(rules, "127.0.0.1", 8081)
    assert not allows(rules, "127.0.0.2", 8080)
    assert not allows(rules, "127.0.0.1", 8080, protocol=UDP)
    assert allows(rules, "10.1.2.3", 53, protocol=UDP)
    assert allows(rules, "fd00::1", 9)
    assert not allows(rules, "fd00::1", 10)


@pytest.mark.parametrize(
    "special",
    [
        "127.0.0.1",
        "10.0.0.1",
        "192.168.1.1",
        "172.16.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "fe80::1%lo",
        "fd00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "::ffff:0:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
    ],
)
def test_addresses_of_ones_own_network_need_a_rule_that_names_them(special: str) -> None:
    broad = ["tcp *:*", "tcp 0.0.0.0/0:*", "tcp [::]/0:*", "tcp *.example.org:*"]
    assert not allows(broad, special, 80)
    assert not allows(broad, "rebind.example.org", 80, resolved=special)


def test_public_addresses_pass_by_a_broad_rule() -> None:
    assert allows(["tcp *:443"], "93.184.216.34", 443)
    assert allows(["tcp 0.0.0.0/0:443"], "93.184.216.34", 443)
    assert allows(["tcp [::]/0:443"], "2606:2800:220:1::1", 443)


def test_a_mapped_address_is_judged_as_the_ipv4_address_it_reaches() -> None:
    assert allows(["tcp 127.0.0.1:80"], "::ffff:127.0.0.1", 80)
    assert not allows(["tcp [::ffff:0:0]/96:80"], "::ffff:127.0.0.1", 80)
    assert str(plain_address("::ffff:10.0.0.1")) == "10.0.0.1"
    assert plain_address("example.org") is None


def test_localhost_in_a_rule_means_the_loopback_addresses() -> None:
    assert allows(["tcp localhost:80"], "127.0.0.1", 80)
    assert allows(["tcp localhost:80"], "localhost", 80, resolved="::1")
    assert not allows(["tcp localhost:80"], "localhost", 80, resolved="10.0.0.1")


def test_a_host_pattern_matches_the_requested_name() -> None:
    rules = ["tcp *.Example.org:443", "tcp example.net:443"]
    assert allows(rules, "WWW.example.org.", 443, resolved="93.184.216.34")
    assert not allows(rules, "example.org", 443, resolved="93.184.216.34")
    assert not allows(rules, "badexample.org", 443, resolved="93.184.216.34")
    assert allows(rules, "example.net", 443, resolved="93.184.216.34")
    assert not allows(rules, "93.184.216.34", 443)
    parsed = Rules.parse([*rules, "tcp 10.0.0.0/8:443"])
    assert parsed.admits_name(TCP, "www.example.org", 443, ALICE)
    assert not parsed.admits_name(TCP, "db.internal", 443, ALICE)


def test_the_first_allowed_of_several_resolved_addresses_is_chosen() -> None:
    rules = Rules.parse(["tcp *:443"])
    resolved = ["nonsense", "10.0.0.1", "93.184.216.34", "93.184.216.35"]
    assert rules.choose(TCP, "www.example.org", resolved, 443, ALICE) == "93.184.216.34"


def test_a_rule_may_be_for_one_peer_only() -> None:
    rules = Rules.parse([f"tcp 127.0.0.1:80 from {BOB}"])
    assert rules.choose(TCP, "127.0.0.1", ["127.0.0.1"], 80, BOB) == "127.0.0.1"
    assert not rules.admits_question(TCP, 80, ALICE)
    with pytest.raises(DeniedError):
        rules.choose(TCP, "127.0.0.1", ["127.0.0.1"], 80, ALICE)


def test_a_bind_rule_says_where_to_listen() -> None:
    rules = Rules.parse(
        [
            "tcp 127.0.0.1:1-10",
            f"bind tcp [::1]:7000 from {BOB}",
            "bind tcp 127.0.0.1:8000-8009",
            "bind udp *:*",
        ]
    )
    assert rules.listener(TCP, 8001, ALICE) == SockListener("127.0.0.1", range(8001, 8002))
    assert rules.listener(TCP, 0, ALICE) == SockListener("127.0.0.1", range(8000, 8010))
    assert rules.listener(TCP, 0, BOB) == SockListener("::1", range(7000, 7001))
    assert rules.listener(UDP, 0, ALICE) == SockListener("0.0.0.0", range(1))
    for port in (5, 9000):
        with pytest.raises(DeniedError):
            rules.listener(TCP, port, ALICE)
    with pytest.raises(DeniedError):
        rules.choose(TCP, "127.0.0.1", ["127.0.0.1"], 8001, ALICE)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("", "not of the form"),
        ("tcp", "not of the form"),
        ("tcp a:1 by x", "not of the form"),
        ("tcp a:1 from", "not of the form"),
        ("icmp a:1", "neither tcp nor udp"),
        ("tcp a:1 from me", "not a hashname"),
        ("tcp 127.0.0.1", "names no port"),
        ("tcp :80", "names no port"),
        ("tcp 127.0.0.1:x", "neither a port"),
        ("tcp 127.0.0.1:1-", "neither a port"),
        ("tcp 127.0.0.1:0", "from 1 to 65535"),
        ("tcp 127.0.0.1:9-1", "from 1 to 65535"),
        ("tcp 127.0.0.1:1-65536", "from 1 to 65535"),
        ("tcp 127.0.0.300:1", "does not appear to be"),
        ("tcp 10.0.0.1/8:1", "has host bits set"),
        ("tcp [::zz]:1", "does not appear to be"),
        ("tcp ex*mple.org:1", "host pattern"),
        ("bind tcp 10.0.0.0/8:1", "one address"),
        ("bind tcp *.example.org:1", "one address"),
    ],
)
def test_a_wrong_rule_is_explained(line: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        SockRule.parse(line)


@given(st.text(max_size=40) | st.from_regex(r"(bind )?(tcp|udp) [\[\]a-f0-9:.*/]+:[0-9*-]+"))
def test_any_text_is_a_rule_or_a_usage_error_and_keeps_its_meaning(line: str) -> None:
    try:
        rule = SockRule.parse(line)
    except UsageError:
        return
    assert SockRule.parse(str(rule)) == rule


def test_rules_print_as_they_are_written() -> None:
    lines = ["tcp 127.0.0.1:8080", "bind udp *:*", f"tcp [2001:db8::]/32:1-9 from {ALICE}"]
    assert str(Rules.parse(lines)).splitlines() == lines


def test_the_machines_own_networks_are_opened_by_name_only() -> None:
    """Its public addresses and the global IPv6 of its LAN: `*` means what lies beyond."""
    own = [ip_network("203.0.113.0/24"), ip_network("2001:db8:1::/64")]
    anywhere = Rules.parse(["tcp *:80", "tcp 0.0.0.0/0:80", "tcp [::]/0:80"])
    for inside in ("203.0.113.7", "2001:db8:1::9"):
        with pytest.raises(DeniedError):
            anywhere.choose(SockProtocol.TCP, inside, [inside], 80, ALICE, own)
        assert anywhere.choose(SockProtocol.TCP, inside, [inside], 80, ALICE) == inside
    for beyond in ("203.0.114.7", "2001:db8:2::9"):
        assert anywhere.choose(SockProtocol.TCP, beyond, [beyond], 80, ALICE, own) == beyond
    named = Rules.parse(["tcp 203.0.113.7:80", "tcp [2001:db8:1::]/64:80"])
    for inside in ("203.0.113.7", "2001:db8:1::9"):
        assert named.choose(SockProtocol.TCP, inside, [inside], 80, ALICE, own) == inside
