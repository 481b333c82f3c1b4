"""How much work strangers may cause."""

from rookery.link.admission import Admission, AdmissionLimits
from rookery.wire.link.path import NetPath, PeerPath, UrlPath

TOKEN = bytes(16)


def address(number: int) -> NetPath:
    return NetPath("udp4", f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", 42424)


def test_unknown_senders_together_get_a_share_of_one_core() -> None:
    """T6: whatever addresses they come from, and however dear their cipher set."""
    admission = Admission(AdmissionLimits(), 0.0)
    for csid, cost in ((0x1A, 0.02), (0x2A, 0.0015), (0x3A, 0.0004), (0x77, 0.002)):
        start = 1000.0 * csid
        admitted = sum(
            admission.admits(TOKEN, csid, address(number), start + number / 1000)
            for number in range(10_000)
        )
        assert admitted * cost <= 0.5 + 10 * 0.15 + cost
    assert admission.refused > 10_000


def test_one_address_gets_a_small_part() -> None:
    admission = Admission(AdmissionLimits(), 0.0)
    paths = [NetPath("udp4", "10.0.0.1", port) for port in range(1, 1000)]
    assert sum(admission.admits(TOKEN, 0x40, path, 0.0) for path in paths) == 100
    assert admission.admits(TOKEN, 0x40, address(7), 0.0)
    assert admission.admits(TOKEN, 0x40, UrlPath("http://10.0.0.1/"), 0.0)
    assert admission.admits(TOKEN, 0x40, PeerPath("r" * 52), 0.0)


def test_a_flood_of_unknown_senders_does_not_keep_peers_out() -> None:
    admission = Admission(AdmissionLimits(), 0.0)
    for number in range(5_000):
        admission.admits(TOKEN, 0x1A, address(number), 0.0)
    friend = b"f" * 16
    assert not admission.admits(friend, 0x1A, address(1), 0.0)
    admission.prove(friend, "friend")
    assert sum(admission.admits(friend, 0x1A, address(1), 0.0) for _ in range(100)) == 40


def test_a_peer_has_one_token_until_it_is_forgotten() -> None:
    admission = Admission(AdmissionLimits(stranger_burst_s=0.0), 0.0)
    old, new = b"o" * 16, b"n" * 16
    admission.prove(old, "friend")
    admission.prove(new, "friend")
    assert not admission.admits(old, 0x40, address(1), 0.0)
    assert admission.admits(new, 0x40, address(1), 0.0)
    admission.forget("friend")
    admission.forget("friend")
    assert not admission.admits(new, 0x40, address(1), 0.0)


def test_announcements_are_counted_as_well() -> None:
    admission = Admission(AdmissionLimits(announcements_per_s=3.0), 0.0)
    assert sum(admission.admits_announcement(0.0) for _ in range(10)) == 3
    assert admission.refused == 7
