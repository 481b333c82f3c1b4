"""M9: the opening metadata names the connector's type and its parameters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.link.channels.sock import SockProtocol
from rookery.mesh.proxy.opening import (
    AcceptedByExit,
    ListenRequest,
    NetTarget,
    Parity,
    ProxyOpening,
    SerialTarget,
    is_name,
    net,
    parse_opening,
)

TOKEN = "0f" * 16

OPENINGS: list[ProxyOpening] = [
    NetTarget(SockProtocol.TCP, "www.example.org", 443),
    NetTarget(SockProtocol.UDP, "2001:db8::1", 53),
    SerialTarget("meter"),
    SerialTarget("usb-1.2:if00", 9600, 7, Parity.EVEN, 2),
    ListenRequest(0, TOKEN),
    AcceptedByExit(TOKEN, "192.0.2.1", 4000),
]


@pytest.mark.parametrize("opening", OPENINGS, ids=str)
def test_every_opening_reads_back_as_it_was_written(opening: ProxyOpening) -> None:
    assert parse_opening(opening.meta()) == opening


def test_a_key_that_nobody_knows_is_skipped() -> None:
    meta = {**OPENINGS[0].meta(), "colour": "blue"}
    assert parse_opening(meta) == OPENINGS[0]


@pytest.mark.parametrize(
    "meta",
    [
        {},
        {"type": "icmp", "host": "a", "port": 1},
        {"type": ["tcp"], "host": "a", "port": 1},
        {"type": "tcp", "host": "a"},
        {"type": "tcp", "host": "a", "port": 0},
        {"type": "tcp", "host": "a", "port": 65536},
        {"type": "tcp", "host": "a", "port": True},
        {"type": "tcp", "host": "a", "port": 80.0},
        {"type": "tcp", "host": "a", "port": "80"},
        {"type": "tcp", "host": "", "port": 80},
        {"type": "tcp", "host": "a" * 254, "port": 80},
        {"type": "tcp", "host": "a b", "port": 80},
        {"type": "tcp", "host": "a\n", "port": 80},
        {"type": "tcp", "host": "a/b", "port": 80},
        {"type": "tcp", "host": b"a", "port": 80},
        {"type": "serial"},
        {"type": "serial", "name": "../tty"},
        {"type": "serial", "name": ".."},
        {"type": "serial", "name": "a" * 129},
        {"type": "serial", "name": "m", "options": []},
        {"type": "serial", "name": "m", "options": {"colour": "blue"}},
        {"type": "serial", "name": "m", "options": {"parity": "mark"}},
        {"type": "serial", "name": "m", "options": {"parity": ["none"]}},
        {"type": "serial", "name": "m", "options": {"baudrate": 0}},
        {"type": "serial", "name": "m", "options": {"baudrate": 10**9}},
        {"type": "serial", "name": "m", "options": {"bits": 9}},
        {"type": "listen", "port": 1, "token": "short"},
        {"type": "listen", "port": -1, "token": TOKEN},
        {"type": "accepted", "host": "a", "port": 1},
        {"type": "tcp", "host": "a", "port": 1, **{str(number): 0 for number in range(14)}},
    ],
)
def test_nonsense_is_no_opening(meta: dict[str, object]) -> None:
    with pytest.raises(DecodeError):
        parse_opening(meta)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(["type", "host", "port", "name", "options", "token", "x"])
TYPES = st.sampled_from(["tcp", "udp", "serial", "listen", "accepted"])


@given(st.dictionaries(KEYS, VALUES), TYPES | VALUES)
def test_any_metadata_is_an_opening_or_refused(meta: dict[str, object], kind: object) -> None:
    try:
        opening = parse_opening({**meta, "type": kind})
    except DecodeError:
        return
    assert parse_opening(opening.meta()) == opening


def test_a_target_is_checked_like_an_opening() -> None:
    assert net(SockProtocol.TCP, "a", 1) == NetTarget(SockProtocol.TCP, "a", 1)
    for host, port in (("a b", 1), ("a", 0)):
        with pytest.raises(DecodeError):
            net(SockProtocol.TCP, host, port)


def test_a_target_is_written_as_people_write_it() -> None:
    assert [str(opening) for opening in OPENINGS[:3]] == [
        "tcp www.example.org:443",
        "udp [2001:db8::1]:53",
        "serial meter",
    ]
    assert str(OPENINGS[4]) == "listen tcp 0"


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".x", "a/b", "/dev/ttyS0", "a b", "a\0", "~x", "ä"]
)
def test_a_line_is_never_named_by_a_path(name: str) -> None:
    assert not is_name(name)
