"""The short memory of QoS 0."""

from rookery.crow.tower.recent_packets import RECENT_S, RecentPackets
from rookery.wire.crow.packet import CrowPacket

SOURCE = b"\x0csource"


def packet(seqid: int, data: bytes = b"") -> CrowPacket:
    return CrowPacket(0, False, b"", 0, seqid, 0, 50, data)


def test_a_copy_is_known_for_a_moment() -> None:
    """C3."""
    recent = RecentPackets()
    assert not recent.is_copy(packet(1), SOURCE, 10.0)
    assert recent.is_copy(packet(1), SOURCE, 10.0 + RECENT_S)
    assert not recent.is_copy(packet(1, b"other"), SOURCE, 10.0)
    assert not recent.is_copy(packet(1), b"another", 10.0)


def test_a_peer_that_starts_anew_is_believed_soon() -> None:
    recent = RecentPackets()
    recent.is_copy(packet(0), SOURCE, 10.0)
    assert not recent.is_copy(packet(0), SOURCE, 10.0 + 2 * RECENT_S)


def test_the_memory_is_bounded() -> None:
    recent = RecentPackets()
    for number in range(100_000):
        recent.is_copy(packet(0, b"%d" % number), SOURCE, 10.0)
    assert len(recent) <= 8192
