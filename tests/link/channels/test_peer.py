"""Asking a router."""

import pytest

from rookery.errors import DecodeError
from rookery.link.channels import connect, peer
from rookery.wire.link.lob import JsonObject, Packet

NAME = "a" * 52
PACKET = Packet(b"\x40", b"sealed")


def test_round_trip() -> None:
    """T4."""
    assert peer.parse_opening(peer.opening(NAME), PACKET.serialize()) == (NAME, PACKET)
    assert connect.parse_opening(connect.opening(NAME), PACKET.serialize()) == (NAME, PACKET)


@pytest.mark.parametrize("head", [{}, {"peer": 7}, {"peer": "A" * 52}, {"peer": "a" * 51}])
def test_a_name_is_needed(head: JsonObject) -> None:
    """T1."""
    with pytest.raises(DecodeError):
        peer.parse_opening(head, PACKET.serialize())


@pytest.mark.parametrize("body", [b"", b"\xff\xff", bytes(peer.BODY_SIZE_MAX + 1)])
def test_a_packet_of_moderate_size_is_needed(body: bytes) -> None:
    with pytest.raises(DecodeError):
        peer.parse_opening(peer.opening(NAME), body)
