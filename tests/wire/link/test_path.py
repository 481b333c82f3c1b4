import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.link.path import (
    NetPath,
    Path,
    PeerPath,
    UnixPath,
    UrlPath,
    net_path,
    parse_own_path,
    parse_path,
    unix_path,
)

HASHNAME = "jvdoio6kjvf3yqnxfvck43twaibbg4pmb7y3mqnvxafb26rqllwa"
IPS = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).map(str)
PATHS = st.one_of(
    st.builds(net_path, st.sampled_from(["udp", "tcp", "tls"]), IPS, st.integers(1, 65535)),
    st.text(max_size=40).map(lambda rest: UrlPath("https://" + rest)),
    st.just(PeerPath(HASHNAME)),
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


@given(PATHS)
def test_a_path_survives_its_json(path: Path) -> None:
    assert parse_path(path.json()) == path


@pytest.mark.parametrize(
    ("path", "kind", "shown"),
    [
        (NetPath("udp4", "192.0.2.1", 42424), "udp4", "udp4:192.0.2.1:42424"),
        (NetPath("tcp6", "2001:db8::1", 1), "tcp6", "tcp6:[2001:db8::1]:1"),
        (UrlPath("http://192.0.2.1/"), "http", "http://192.0.2.1/"),
        (PeerPath(HASHNAME), "peer", "peer:jvdoio6k"),
    ],
)
def test_paths_have_a_kind_and_a_short_form_for_people(path: Path, kind: str, shown: str) -> None:
    assert (path.kind, str(path)) == (kind, shown)
    assert path.json()["type"] == kind


def test_an_address_chooses_the_family_of_its_path() -> None:
    assert net_path("udp", "::1", 7).kind == "udp6"
    assert net_path("tcp", "127.0.0.1", 7) == NetPath("tcp4", "127.0.0.1", 7)
    assert NetPath("tcp4", "127.0.0.1", 7).address == ("127.0.0.1", 7)


def test_the_other_spellings_of_the_public_implementation_are_read() -> None:
    """T7"""
    assert parse_path({"type": "http", "http": "http://x"}) == UrlPath("http://x")
    assert parse_path({"type": "peer", "peer": HASHNAME}) == PeerPath(HASHNAME)


@given(
    st.dictionaries(
        st.sampled_from(["type", "ip", "port", "url", "http", "hn", "peer"]),
        JSON_VALUES | st.sampled_from(["udp4", "tcp6", "http", "peer", "::1", "127.0.0.1"]),
    )
    | JSON_VALUES
)
def test_arbitrary_json_is_a_path_or_raises_decode_error(value: object) -> None:
    try:
        path = parse_path(value)
    except DecodeError:
        return
    assert parse_path(path.json()) == path


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"type": 4},
        {"type": "webrtc"},
        {"type": "udp4", "port": 1},
        {"type": "udp4", "ip": "host", "port": 1},
        {"type": "udp4", "ip": "::1", "port": 1},
        {"type": "udp6", "ip": "127.0.0.1", "port": 1},
        {"type": "udp4", "ip": "127.0.0.1"},
        {"type": "udp4", "ip": "127.0.0.1", "port": 0},
        {"type": "udp4", "ip": "127.0.0.1", "port": 65536},
        {"type": "udp4", "ip": "127.0.0.1", "port": "1"},
        {"type": "udp4", "ip": "127.0.0.1", "port": True},
        {"type": "http"},
        {"type": "http", "url": "ftp://x"},
        {"type": "http", "url": "http://" + "x" * 1100},
        {"type": "peer"},
        {"type": "peer", "hn": "short"},
    ],
)
def test_what_is_no_path_is_refused(value: object) -> None:
    with pytest.raises(DecodeError):
        parse_path(value)


def test_a_socket_of_the_machine_counts_for_its_user_and_for_no_peer() -> None:
    socket, net = UnixPath("/run/rookery.sock"), net_path("udp", "::1", 9)
    assert parse_own_path(socket.json()) == socket
    assert parse_own_path(net.json()) == net
    with pytest.raises(DecodeError):
        parse_path(socket.json())


@pytest.mark.parametrize("file", ["", "relative.sock", "/nul\0", "/" + "x" * 107, "/" + "ü" * 54])
def test_a_file_that_no_socket_can_have_is_refused(file: str) -> None:
    with pytest.raises(DecodeError):
        unix_path(file)
    with pytest.raises(DecodeError):
        parse_own_path({"type": "unix", "file": file})
