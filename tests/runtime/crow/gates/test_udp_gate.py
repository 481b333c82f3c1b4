"""Crow over UDP on real loopback sockets (C1, C2, C8)."""

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Iterator

import pytest

from rookery.errors import UsageError
from rookery.runtime.crow.gates.gate import ANY_ADDRESS, CrowGate
from rookery.runtime.crow.gates.udp_gate import ADDRESSES_MAX, CrowUdpGate
from rookery.wire.crow.address import udp_hop
from rookery.wire.crow.packet import CrowPacket
from tests.patience import PATIENCE_S
from tests.runtime.crow.recorder import CrowRecorder, eventually, packet


@pytest.fixture
def recorder() -> CrowRecorder:
    return CrowRecorder()


@pytest.fixture
async def gate(recorder: CrowRecorder) -> AsyncIterator[CrowUdpGate]:
    gate = await CrowUdpGate.bind(recorder)
    yield gate
    await gate.close()


@pytest.fixture
def peer() -> Iterator[socket.socket]:
    """A foreign tower: a plain socket, read with a bounded wait."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.setblocking(False)
        yield sock


def hop_to(sock: socket.socket) -> bytes:
    ip, port = sock.getsockname()
    return udp_hop(ip, port)


async def datagram(sock: socket.socket) -> bytes:
    async with asyncio.timeout(PATIENCE_S):
        return await asyncio.get_running_loop().sock_recv(sock, 0xFFFF)


async def test_binds_to_loopback_as_gate_12_unless_told_otherwise(gate: CrowUdpGate) -> None:
    as_gate: CrowGate = gate
    assert as_gate.id == 12
    assert gate.address == udp_hop("127.0.0.1", gate.port)


async def test_one_packet_is_one_datagram_under_a_v1_header(
    gate: CrowUdpGate, peer: socket.socket
) -> None:
    sent = packet(hop_to(peer))
    gate.send(sent)
    assert await datagram(peer) == sent.serialize()


async def test_the_argument_is_taken_from_where_the_packet_has_got_to(
    gate: CrowUdpGate, peer: socket.socket
) -> None:
    sent = packet(b"\x2a" + hop_to(peer) + b"\x2a", stage=1)
    gate.send(sent)
    assert await datagram(peer) == sent.serialize()


async def test_what_arrives_comes_with_the_return_hop_to_its_sender(
    gate: CrowUdpGate, recorder: CrowRecorder, peer: socket.socket
) -> None:
    sent = packet(gate.address)
    peer.sendto(sent.serialize(), ("127.0.0.1", gate.port))
    assert await recorder.arrival() == (sent, hop_to(peer)[::-1])


async def test_a_burst_is_read_in_few_turns_and_told_in_order(
    gate: CrowUdpGate, recorder: CrowRecorder, peer: socket.socket
) -> None:
    for number in range(200):
        peer.sendto(packet(gate.address, b"%d" % number).serialize(), ("127.0.0.1", gate.port))
    await recorder.arrival(200)
    assert recorder.data == [b"%d" % number for number in range(200)]
    assert 0 < len(recorder.drains) <= 40


async def test_a_burst_is_sent_in_order_and_in_single_datagrams(
    gate: CrowUdpGate, peer: socket.socket
) -> None:
    for number in range(200):
        gate.send(packet(hop_to(peer), b"%04d" % number))
    got = [CrowPacket.parse(await datagram(peer)).data for _ in range(200)]
    assert got == [b"%04d" % number for number in range(200)]
    assert gate.counters.packets_out == 200


async def test_a_run_is_answered_portion_by_portion(recorder: CrowRecorder) -> None:
    """The sender of a window works on the first answers while the last are made."""
    here, there = await CrowUdpGate.bind(recorder), await CrowUdpGate.bind(CrowRecorder())
    there.send_all([packet(here.address, b"%02d" % number) for number in range(40)])
    await recorder.until(lambda: 40 in recorder.drains)
    assert {8, 16, 24, 32} <= set(recorder.drains)
    assert recorder.data == [b"%02d" % number for number in range(40)]
    await here.close()
    await there.close()


async def test_packets_for_several_neighbours_keep_their_order_for_each(
    gate: CrowUdpGate, peer: socket.socket
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        other.setblocking(False)
        hops = hop_to(peer), hop_to(other)
        gate.send_all([packet(hops[number % 2], b"%d" % number) for number in range(6)])
        for sock, numbers in ((peer, (0, 2, 4)), (other, (1, 3, 5))):
            got = [CrowPacket.parse(await datagram(sock)).data for _ in numbers]
            assert got == [b"%d" % number for number in numbers]


async def test_an_acknowledgement_leaves_behind_the_packet_that_goes_along_with_it(
    gate: CrowUdpGate, recorder: CrowRecorder
) -> None:
    """It is the shorter one, so both go in one call, and come in one read."""
    there = await CrowUdpGate.bind(CrowRecorder())
    ack = CrowPacket(2, True, gate.address, 0, 6, 0, 204, b"")
    there.send_all([ack, packet(gate.address, b"the next one")])
    await recorder.arrival(2)
    assert [each.is_ack for each, _ in recorder.arrivals] == [False, True]
    await there.close()


async def test_one_packet_that_does_not_fit_holds_up_no_other(
    gate: CrowUdpGate, peer: socket.socket
) -> None:
    hop = hop_to(peer)
    unfit = packet(hop, bytes(65_520)), CrowPacket(9, False, hop, 0, 7, 0, 204, b"a type of v0")
    gate.send_all([packet(hop, b"first"), *unfit, packet(hop, b"last")])
    got = [CrowPacket.parse(await datagram(peer)).data for _ in range(2)]
    assert got == [b"first", b"last"]
    assert gate.counters.dropped == {"unfit": 2}


async def test_two_gates_talk(recorder: CrowRecorder, gate: CrowUdpGate) -> None:
    other = await CrowUdpGate.bind(CrowRecorder(), gate_id=77)
    try:
        other.send(packet(gate.address))
        arrived, return_hop = await recorder.arrival()
        assert arrived.data == b"hello"
        assert return_hop[::-1] == b"\x0c" + other.address[1:]  # the receiver writes its own id
    finally:
        await other.close()


async def test_random_bytes_are_dropped_and_counted(
    gate: CrowUdpGate, recorder: CrowRecorder, peer: socket.socket
) -> None:
    source = random.Random(1)
    for _ in range(150):
        peer.sendto(source.randbytes(source.randrange(64)), ("127.0.0.1", gate.port))
    peer.sendto(packet(gate.address).serialize(), ("127.0.0.1", gate.port))
    await recorder.until(lambda: b"hello" in recorder.data)
    assert gate.counters.dropped["malformed"] + len(recorder.arrivals) == 151
    assert gate.counters.dropped["malformed"] >= 140


async def test_a_stranger_is_neither_heard_nor_answered(
    recorder: CrowRecorder, peer: socket.socket
) -> None:
    """The allow list works both ways, so a forwarding tower is nobody's way to everywhere."""
    gate = await CrowUdpGate.bind(recorder, allow=["127.0.0.9"])
    friend = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        friend.bind(("127.0.0.9", 0))
        peer.sendto(packet(gate.address).serialize(), ("127.0.0.1", gate.port))
        friend.sendto(packet(gate.address, b"friend").serialize(), ("127.0.0.1", gate.port))
        gate.send(packet(hop_to(peer)))
        await recorder.arrival()
        assert recorder.data == [b"friend"]
        assert gate.counters.dropped == {"denied": 2}
    finally:
        friend.close()
        await gate.close()


async def test_anybody_can_be_allowed(recorder: CrowRecorder, peer: socket.socket) -> None:
    gate = await CrowUdpGate.bind(recorder, allow=ANY_ADDRESS)
    peer.sendto(packet(gate.address).serialize(), ("127.0.0.1", gate.port))
    await recorder.arrival()
    await gate.close()


@pytest.mark.parametrize("address", [b"\x0c", b"\x0c\x7f\x00\x00\x01\x12", udp_hop("127.0.0.1", 1)])
async def test_an_address_that_leads_nowhere_is_survived(
    gate: CrowUdpGate, address: bytes, recorder: CrowRecorder, peer: socket.socket
) -> None:
    gate.send(packet(address))
    gate.send(packet(hop_to(peer)))
    await datagram(peer)
    peer.sendto(packet(gate.address).serialize(), ("127.0.0.1", gate.port))
    await recorder.arrival()


async def test_the_memory_of_peers_is_bounded(gate: CrowUdpGate, peer: socket.socket) -> None:
    for number in range(ADDRESSES_MAX + 10):
        gate.send(packet(udp_hop(f"203.0.{number >> 8}.{number & 255}", 9)))
    assert gate.counters.dropped["denied"] == ADDRESSES_MAX + 10
    gate.send(packet(hop_to(peer)))
    await datagram(peer)


async def test_a_packet_too_large_for_a_datagram_is_dropped(
    gate: CrowUdpGate, peer: socket.socket
) -> None:
    gate.send(packet(hop_to(peer), bytes(65_520)))
    assert gate.counters.dropped == {"unfit": 1}


async def test_more_than_the_socket_takes_is_dropped_not_kept(gate: CrowUdpGate) -> None:
    """Towards a receiver that never reads, sent within one turn of the loop."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.1", 0))
        for _ in range(1000):
            gate.send(packet(hop_to(deaf), bytes(1000)))
        counters = gate.counters
        await eventually(lambda: counters.packets_out + sum(counters.dropped.values()) == 1000)


async def test_ipv6_and_bad_networks_are_refused(recorder: CrowRecorder) -> None:
    with pytest.raises(UsageError, match="IPv4 only"):
        await CrowUdpGate.bind(recorder, "::1")
    with pytest.raises(UsageError, match="not a network"):
        await CrowUdpGate.bind(recorder, allow=["x"])


async def test_a_closed_gate_is_silent(recorder: CrowRecorder, peer: socket.socket) -> None:
    gate = await CrowUdpGate.bind(recorder)
    gate.send(packet(hop_to(peer), b"last words"))
    await gate.close()
    await gate.close()
    gate.send(packet(hop_to(peer)))
    assert CrowPacket.parse(await datagram(peer)).data == b"last words"
    assert gate.counters.dropped == {"full": 1}
