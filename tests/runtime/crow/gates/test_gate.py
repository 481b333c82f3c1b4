"""What all crow gates share: lists of whom to talk with, counting, and both headers (C2)."""

import pytest

from rookery.errors import UsageError
from rookery.runtime.crow.gates.codec import CrowGateCodec
from rookery.runtime.crow.gates.gate import ANY_ADDRESS, CrowAllowList, CrowDropReason, checked_id
from rookery.wire.crow.packet import CrowPacket
from tests.runtime.crow.recorder import CrowRecorder, packet


@pytest.mark.parametrize(
    ("ip", "allowed"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("192.0.2.1", False), ("::1", False), ("", False)],
)
def test_without_being_told_a_gate_talks_with_this_machine_only(ip: str, allowed: bool) -> None:
    assert CrowAllowList().allows(ip) is allowed


def test_networks_and_single_hosts_can_be_listed() -> None:
    allow = CrowAllowList(["192.0.2.0/24", "198.51.100.7"])
    assert [
        allow.allows(ip) for ip in ("192.0.2.9", "198.51.100.7", "198.51.100.8", "127.0.0.1")
    ] == [True, True, False, False]
    assert CrowAllowList(ANY_ADDRESS).allows("203.0.113.1")


def test_what_is_no_network_is_refused() -> None:
    with pytest.raises(UsageError, match="not a network"):
        CrowAllowList(["somewhere"])


def test_many_forged_addresses_are_all_decided_rightly() -> None:
    allow = CrowAllowList(["10.0.0.0/24"])
    ips = [f"10.{i >> 8}.{i & 255}.1" for i in range(10_000)]
    assert [ip for ip in ips if allow.allows(ip)] == ["10.0.0.1"]


async def test_bytes_that_are_no_packet_are_dropped_and_counted() -> None:
    recorder = CrowRecorder()
    codec = CrowGateCodec(recorder)
    assert not codec.enter(b"short", b"\x01")
    assert codec.enter(packet(b"\x01").serialize(), b"\x01")
    assert codec.counters.dropped == {"malformed": 1}
    assert recorder.arrivals == [(packet(b"\x01"), b"\x01")]
    assert (codec.counters.packets_in, codec.counters.bytes_in) == (1, 14)


async def test_a_packet_that_the_header_cannot_hold_is_dropped_and_counted() -> None:
    """A v0 line has 32 types, all others 8."""
    large = CrowPacket(9, False, b"\x01", 0, 1, 0, 204, b"")
    new, old = CrowGateCodec(CrowRecorder()), CrowGateCodec(CrowRecorder(), header_version=0)
    assert new.leave(large) is None
    assert new.counters.dropped == {CrowDropReason.UNFIT: 1}
    assert old.leave(large) == large.serialize_v0()


async def test_there_are_two_headers_and_256_gates() -> None:
    with pytest.raises(UsageError, match="version 2"):
        CrowGateCodec(CrowRecorder(), header_version=2)
    with pytest.raises(UsageError, match="256 is no gate"):
        checked_id(256)
