import string
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire import base32
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.path import NetPath, PeerPath, UnixPath, UrlPath, net_path, parse_path
from rookery.wire.link.uri import (
    KEYS_MAX,
    PATHS_MAX,
    TEXT_SIZE_MAX,
    LinkAddress,
    fragment_secret,
    host_paths,
    with_fragment,
    with_keys,
    with_paths,
)


class Call(msgspec.Struct):
    call: str
    base: str
    out: str
    keys: dict[str, str] = {}
    paths: list[JsonObject] = []
    hashname: str = ""
    custom_hex: str = ""


class Decoded(msgspec.Struct):
    keys: dict[str, str]
    paths: list[JsonObject]
    hashname: str


class Announcement(msgspec.Struct):
    json: dict[str, JsonObject]


class Vectors(msgspec.Struct):
    uri: list[Call]
    uri_decode_js: Decoded
    discovery_announcement_js: Announcement


VECTORS = msgspec.json.decode(
    (Path(__file__).parents[2] / "vectors" / "telehash.json").read_bytes(), type=Vectors
)
HASHNAME = VECTORS.uri_decode_js.hashname

HASHNAMES = st.binary(min_size=32, max_size=32).map(base32.encode)
IPS = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).map(str)
NET_PATHS = st.builds(
    lambda carrier, ip, port: NetPath(carrier + ("6" if ":" in ip else "4"), ip, port),
    st.sampled_from(["udp", "tcp", "tls"]),
    IPS,
    st.integers(1, 65535),
)
URL_PATHS = st.text(string.ascii_lowercase, min_size=1, max_size=20).map(
    lambda name: UrlPath(f"https://{name}/")
)
ADDRESSES = st.builds(
    LinkAddress,
    st.none() | HASHNAMES,
    st.dictionaries(st.integers(1, 255), st.binary(min_size=1, max_size=300), max_size=3),
    st.lists(st.one_of(NET_PATHS, URL_PATHS, HASHNAMES.map(PeerPath)), max_size=5).map(tuple),
    fragment=st.text(string.ascii_lowercase, max_size=8),
)


def keys_of(texts: dict[str, str]) -> dict[int, bytes]:
    return {int(csid, 16): base32.decode(text) for csid, text in texts.items()}


def test_public_uris_are_made_the_same() -> None:
    """T7"""
    keys, paths, fragment = VECTORS.uri
    assert with_keys(keys.base, keys_of(keys.keys)) == keys.out
    assert with_paths(paths.base, paths.paths) == paths.out
    secret = bytes.fromhex(fragment.custom_hex)
    assert with_fragment(fragment.base, fragment.hashname, secret) == fragment.out
    assert fragment_secret(fragment.out.partition("#")[2], fragment.hashname) == secret


def test_public_uris_are_read() -> None:
    """T5, T7"""
    keys, paths, fragment = VECTORS.uri
    assert LinkAddress.parse(keys.out).keys == keys_of(keys.keys)
    read = LinkAddress.parse(paths.out)
    assert (read.host, read.port, read.fragment) == ("host", 42424, "frag")
    assert read.paths == (
        UrlPath("http://host:42424"),
        *(parse_path(path) for path in paths.paths),
    )
    assert LinkAddress.parse(fragment.out).fragment == fragment.out.partition("#")[2]


def test_a_public_uri_means_what_the_public_implementation_takes_from_it() -> None:
    """T5, T7"""
    expected = VECTORS.uri_decode_js
    read = LinkAddress.parse(VECTORS.uri[0].out)
    assert read.keys == keys_of(expected.keys)
    assert read.paths == tuple(parse_path(path) for path in expected.paths)
    assert read.host == ""


def test_a_public_announcement_holds_keys_in_link_form() -> None:
    """T6, T7"""
    keys = VECTORS.discovery_announcement_js.json["json"]["hn"]
    assert LinkAddress.of_json({"keys": keys}).keys == keys_of(VECTORS.uri_decode_js.keys)


@given(ADDRESSES)
def test_an_address_survives_json(address: LinkAddress) -> None:
    """T5"""
    text = msgspec.json.encode(address.json()).decode()
    again = LinkAddress.parse(text)
    assert (again.hashname, again.keys, again.paths) == (
        address.hashname,
        address.keys,
        address.paths,
    )


@given(ADDRESSES)
def test_an_address_survives_its_uri_which_may_add_transports_of_its_host(
    address: LinkAddress,
) -> None:
    """T5"""
    uri = address.uri()
    again = LinkAddress.parse(uri)
    assert (again.hashname, again.keys, again.fragment) == (
        address.hashname,
        address.keys,
        address.fragment,
    )
    assert set(address.paths) <= set(again.paths)
    assert LinkAddress.parse(again.uri()) == again


@given(st.text(max_size=200) | st.text("{}[]:/?#&=%@.0123456789abcxyz \"'", max_size=80))
def test_arbitrary_text_is_an_address_or_raises_decode_error(text: str) -> None:
    for candidate in (text, "link://" + text, '{"keys":' + text, "{" + text + "}"):
        try:
            address = LinkAddress.parse(candidate)
        except DecodeError:
            continue
        assert isinstance(address.uri(), str)


def test_a_bare_hashname_is_an_address() -> None:
    """T5"""
    assert LinkAddress.parse(f" {HASHNAME}\n") == LinkAddress(HASHNAME)
    assert LinkAddress.parse(LinkAddress(HASHNAME).uri()).hashname == HASHNAME


def test_a_host_name_is_kept_unresolved() -> None:
    address = LinkAddress.parse("link://hub.example:4242/")
    assert (address.host, address.port) == ("hub.example", 4242)
    assert address.paths == (UrlPath("http://hub.example:4242"),)
    assert LinkAddress.parse(address.uri()) == address
    assert host_paths("2001:db8::1", 4242) == (
        NetPath("udp6", "2001:db8::1", 4242),
        NetPath("tcp6", "2001:db8::1", 4242),
        UrlPath("http://[2001:db8::1]:4242"),
    )


def test_parameters_and_paths_of_others_are_left_alone() -> None:
    address = LinkAddress.parse("link://192.0.2.1/?csrf=x&other=1")
    assert address.keys == {}
    link = {"paths": [{"type": "carrier pigeon"}, 7, {"type": "peer", "hn": HASHNAME}]}
    assert LinkAddress.of_json(link).paths == (PeerPath(HASHNAME),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nobody",
        "8" * 52,
        "x" * (TEXT_SIZE_MAX + 1),
        "{",
        '{"hashname":7}',
        '{"keys":[]}',
        '{"keys":{"3a":7}}',
        '{"keys":{"3a":""}}',
        '{"keys":{"3A":"aa"}}',
        '{"keys":{"zz":"aa"}}',
        '{"keys":{"00":"aa"}}',
        '{"keys":{"3a3a":"aa"}}',
        '{"keys":{"3a":"1"}}',
        '{"paths":{}}',
        '{"keys":' + "{" * 2000,
        msgspec.json.encode({"keys": {f"{n:02x}": "aa" for n in range(1, 2 + KEYS_MAX)}}).decode(),
        msgspec.json.encode({"paths": [0] * (1 + PATHS_MAX)}).decode(),
        "link://192.0.2.1:0/",
        "link://192.0.2.1:70000/",
        "link://[::1/",
        "link://" + "x" * 254,
        "link://192.0.2.1/?cs3a=1",
        "link://192.0.2.1/?paths=1",
        "link://192.0.2.1/?paths=aaaa",
        "link://192.0.2.1/?hashname=short",
    ],
    ids=lambda text: text[:40] or "empty",
)
def test_text_that_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(DecodeError):
        LinkAddress.parse(text)


@pytest.mark.parametrize("fragment", ["", "aa", "rtcsaqnccscuc4anp33vgoivna", "8"])
def test_a_malformed_fragment_is_refused(fragment: str) -> None:
    with pytest.raises(DecodeError):
        fragment_secret(fragment, VECTORS.uri[2].hashname)


def test_sockets_of_the_machine_are_read_from_its_user_and_told_to_nobody() -> None:
    socket, net = UnixPath("/run/rookery.sock"), net_path("udp", "203.0.113.7", 9)
    address = LinkAddress(HASHNAME, {}, (net, socket))
    assert LinkAddress.parse(address.uri()).paths[-1] == socket
    assert LinkAddress.of_json(address.json(), is_own=True).paths == (net, socket)
    assert LinkAddress.of_json(address.json()).paths == (net,)
    assert address.elsewhere().paths == (net,)
