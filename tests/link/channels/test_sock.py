"""T3: the heads of `sock`, ours and JavaScript's."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import CongestionError, DecodeError, DeniedError, UnreachableError
from rookery.link.channels.sock import (
    SockAccept,
    SockAddress,
    SockBind,
    SockConnect,
    SockFault,
    SockProtocol,
    parse_open,
)
from rookery.wire.link.lob import JsonObject

hosts = st.sampled_from(["127.0.0.1", "::1", "fe80::1%lo", "db.example.org", "a-b_c"])
addresses = st.builds(SockAddress, hosts, st.integers(1, 65535))
requests = st.one_of(
    st.builds(SockConnect, addresses, st.none() | addresses),
    st.builds(SockBind, st.integers(0, 65535)),
    st.builds(SockAccept, addresses, st.none() | addresses),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
hostile_heads = st.dictionaries(
    st.sampled_from(["sock", "src", "dst", "type"]),
    st.sampled_from(["connect", "bind", "accept"])
    | st.dictionaries(st.sampled_from(["ip", "port"]), json_values)
    | json_values,
)


@given(requests)
def test_every_request_survives_the_wire(request_: SockConnect | SockBind | SockAccept) -> None:
    head = json.loads(json.dumps({"type": "sock", "seq": 1, **request_.head()}))
    assert parse_open(head) == request_


@given(hostile_heads)
def test_arbitrary_heads_parse_or_raise_decode_error(head: JsonObject) -> None:
    try:
        request_ = parse_open(head)
    except DecodeError:
        return
    assert parse_open(request_.head()) == request_


def test_the_javascript_peers_connect_is_understood() -> None:
    """T7: the open of the captured flow `sock`."""
    path = Path(__file__).parents[2] / "vectors" / "telehash.json"
    flow = json.loads(path.read_text())["flows_decrypted"]["flows"]["sock"]
    assert parse_open(flow[0]["json"]) == SockConnect(SockAddress("127.0.0.1", 45375))


def test_a_bind_names_its_port_where_the_spec_and_where_javascript_look() -> None:
    head = SockBind(8000).head()
    assert head["src"] == head["dst"] == {"port": 8000}
    assert parse_open({"sock": "bind", "dst": {"port": 8000}}) == SockBind(8000)
    assert parse_open({"sock": "bind", "src": {"port": 8000}, "dst": {"port": 1}}) == SockBind(8000)
    assert parse_open({"sock": "bind"}) == SockBind(0)


def test_the_javascript_peers_accept_lacks_an_ip_and_a_source_port() -> None:
    """T7"""
    head: JsonObject = {
        "sock": "accept",
        "dst": {"ip": None, "port": 80},
        "src": {"ip": "127.0.0.1"},
    }
    assert parse_open(head) == SockAccept(SockAddress("0.0.0.0", 80), SockAddress("127.0.0.1", 0))


@pytest.mark.parametrize(
    "head",
    [
        {},
        {"sock": "listen"},
        {"sock": "connect"},
        {"sock": "connect", "dst": {"ip": "127.0.0.1"}},
        {"sock": "connect", "dst": {"ip": "127.0.0.1", "port": 65536}},
        {"sock": "connect", "dst": {"ip": "127.0.0.1", "port": -1}},
        {"sock": "connect", "dst": {"ip": "127.0.0.1", "port": True}},
        {"sock": "connect", "dst": {"ip": "a b", "port": 1}},
        {"sock": "connect", "dst": {"ip": "a\n", "port": 1}},
        {"sock": "connect", "dst": {"ip": "a" * 254, "port": 1}},
        {"sock": "connect", "dst": {"ip": 1, "port": 1}},
        {"sock": "connect", "dst": "127.0.0.1:1"},
        {"sock": "connect", "dst": {"ip": "a", "port": 1}, "src": 5},
        {"sock": "bind", "src": {"port": "80"}},
        {"sock": "accept", "dst": 5},
    ],
)
def test_a_malformed_request_is_refused(head: JsonObject) -> None:
    with pytest.raises(DecodeError):
        parse_open(head)


def test_reliable_means_tcp() -> None:
    assert SockProtocol.of(reliable=True) is SockProtocol.TCP
    assert SockProtocol.of(reliable=False) is SockProtocol.UDP


def test_a_fault_keeps_its_meaning_across_the_wire() -> None:
    wanted = SockAddress("::1", 80)
    assert {type(fault.error(wanted)) for fault in SockFault} == {
        DeniedError,
        CongestionError,
        UnreachableError,
    }
    assert all(SockFault.of(fault.value) is fault for fault in SockFault)
    assert SockFault.of("no accept handler") is None
    assert str(SockFault.REFUSED.error(wanted)) == "[::1]:80: refused"
