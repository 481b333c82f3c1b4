"""Who shows itself on the local network."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.identity.identity import Identity
from rookery.link.discovery.announcement import announcements, parse_announcement
from rookery.link.session.handshake import Handshake
from rookery.wire import base32
from rookery.wire.link.lob import JsonObject, Packet
from rookery.wire.link.path import NetPath

SOURCE = NetPath("udp4", "10.0.0.1", 42424)
IDENTITY = Identity.generate((0x3A, 0x40), Random(1).randbytes)
LISTED = {f"{csid:02x}": base32.encode(key) for csid, key in IDENTITY.keys.items()}


@pytest.mark.parametrize("data", announcements(IDENTITY))
def test_whatever_we_announce_is_understood(data: bytes) -> None:
    """T6."""
    stranger = parse_announcement(Packet.parse(data), SOURCE)
    assert stranger.hashname == IDENTITY.hashname
    assert stranger.keys.items() <= IDENTITY.keys.items()
    assert stranger.paths == (SOURCE,)
    assert not stranger.is_proven


def test_the_javascript_peers_form_is_among_them() -> None:
    """T7: its wrapper too, for it reads nothing else."""
    heads = [Packet.parse(data).json for data in announcements(IDENTITY)]
    assert {"json": {"type": "hn", "hn": LISTED}} in heads


def test_three_forms_are_read() -> None:
    """T6, T7."""
    lesser = Handshake(0x3A, IDENTITY.keys[0x3A], IDENTITY.intermediates(0x3A))
    packets = [
        Packet.of({"json": {"type": "hn", "hn": LISTED}}),
        Packet.of({"type": "hn", "hn": LISTED}),
        Packet.parse(lesser.unencrypted()),
    ]
    names = {parse_announcement(packet, SOURCE).hashname for packet in packets}
    assert names == {IDENTITY.hashname}


@pytest.mark.parametrize(
    "head",
    [
        {"type": "hn"},
        {"type": "hn", "hn": []},
        {"type": "hn", "hn": {}},
        {"type": "hn", "hn": {"3a": 7}},
        {"type": "hn", "hn": {"3A": "aa"}},
        {"type": "hn", "hn": {"3a": "not base32"}},
        {"type": "hn", "hn": {f"{number:02x}": "aa" for number in range(1, 20)}},
        {"json": {"type": "else"}},
        {"type": "link", "csid": "3a"},
        {"hello": "world"},
    ],
)
def test_anything_else_is_refused(head: JsonObject) -> None:
    with pytest.raises(DecodeError):
        parse_announcement(Packet.of(head), SOURCE)


@given(st.binary(max_size=200), st.binary(max_size=100))
def test_arbitrary_bytes_parse_or_raise_decode_error(head: bytes, body: bytes) -> None:
    with pytest.raises(DecodeError):
        parse_announcement(Packet(head, body), SOURCE)
