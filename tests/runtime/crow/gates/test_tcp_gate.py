"""Crow over TCP on real loopback sockets (C1, C2, C8)."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator

import pytest

from rookery.errors import UsageError
from rookery.runtime.crow.gates.connection import CrowStreamLimits
from rookery.runtime.crow.gates.gate import CrowGate
from rookery.runtime.crow.gates.tcp_gate import CrowTcpGate
from rookery.wire.crow.address import udp_hop
from rookery.wire.crow.packet import CrowPacket
from tests.patience import PATIENCE_S
from tests.runtime.crow.recorder import CrowRecorder, eventually, packet

TCP = 13


@pytest.fixture
def recorder() -> CrowRecorder:
    return CrowRecorder()


@pytest.fixture
async def gate(recorder: CrowRecorder) -> AsyncIterator[CrowTcpGate]:
    gate = CrowTcpGate(recorder)
    await gate.listen()
    yield gate
    await gate.close()


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        sock.setblocking(False)
        yield sock


def framed(*packets: CrowPacket) -> bytes:
    parts = [crow.serialize() for crow in packets]
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def hop_to(sock: socket.socket) -> bytes:
    ip, port = sock.getsockname()
    return udp_hop(ip, port, TCP)


async def connected(gate: CrowTcpGate) -> socket.socket:
    sock = socket.socket()
    sock.setblocking(False)
    port = int.from_bytes(gate.address[5:], "big")
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
    return sock


async def accepted(listener: socket.socket) -> socket.socket:
    async with asyncio.timeout(PATIENCE_S):
        sock, _ = await asyncio.get_running_loop().sock_accept(listener)
    return sock


async def read(sock: socket.socket, size: int) -> bytes:
    data = b""
    async with asyncio.timeout(PATIENCE_S):
        while len(data) < size:
            more = await asyncio.get_running_loop().sock_recv(sock, size - len(data))
            assert more, "hung up"
            data += more
    return data


async def is_hung_up(sock: socket.socket) -> bool:
    """Wait for the peer's next word, or the lack of it."""
    async with asyncio.timeout(PATIENCE_S):
        try:
            return await asyncio.get_running_loop().sock_recv(sock, 1) == b""
        except ConnectionError:
            return True


async def test_two_gates_talk_over_one_connection(
    gate: CrowTcpGate, recorder: CrowRecorder
) -> None:
    """The answer takes the connection that the question came by."""
    as_gate: CrowGate = gate
    assert as_gate.id == TCP
    answers = CrowRecorder()
    client = CrowTcpGate(answers)
    try:
        client.send(packet(gate.address, b"question"))
        arrived, return_hop = await recorder.arrival()
        assert arrived.data == b"question"
        gate.send(packet(return_hop[::-1], b"answer"))
        answer, back = await answers.arrival()
        assert answer.data == b"answer"
        assert back[::-1] == gate.address  # as it was dialled
    finally:
        await client.close()


async def test_a_frame_is_a_big_endian_length_and_a_v1_packet(
    gate: CrowTcpGate, listener: socket.socket
) -> None:
    sent = packet(hop_to(listener))
    gate.send(sent)
    with await accepted(listener) as peer:
        assert await read(peer, len(framed(sent))) == framed(sent)


async def test_frames_cut_anywhere_and_glued_together_arrive(
    gate: CrowTcpGate, recorder: CrowRecorder
) -> None:
    """The public C++ tower loses its place in the stream at either."""
    packets = [packet(gate.address, bytes([number]) * number) for number in range(1, 40)]
    stream = framed(*packets)
    loop = asyncio.get_running_loop()
    with await connected(gate) as peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, 200):
            await loop.sock_sendall(peer, stream[at : at + 1])
            await asyncio.sleep(0)
        await loop.sock_sendall(peer, stream[200:])
        await recorder.arrival(len(packets))
    assert [arrived for arrived, _ in recorder.arrivals] == packets


async def test_every_frame_is_a_write_of_its_own(
    gate: CrowTcpGate, listener: socket.socket, recorder: CrowRecorder
) -> None:
    """A peer that reads after each write sees one frame at a time, as the C++ tower must."""
    loop = asyncio.get_running_loop()
    gate.send(packet(hop_to(listener), b"first"))
    with await accepted(listener) as peer:
        assert await loop.sock_recv(peer, 4096) == framed(packet(hop_to(listener), b"first"))
        for number in range(20):
            sent = packet(hop_to(listener), b"%d" % number)
            gate.send(sent)
            assert peer.recv(4096) == framed(sent)  # there already: nothing was held back


async def test_a_gap_keeps_frames_apart_for_a_peer_that_reads_one_at_a_time(
    recorder: CrowRecorder, listener: socket.socket
) -> None:
    """Each read of this peer is taken for one frame, as at the C++ tower; none may be lost."""
    gate = CrowTcpGate(recorder, gap_s=0.02)
    loop = asyncio.get_running_loop()
    sent = [packet(hop_to(listener), b"%02d" % number) for number in range(10)]
    try:
        for crow in sent:
            gate.send(crow)
        with await accepted(listener) as peer:
            async with asyncio.timeout(PATIENCE_S):
                reads = [await loop.sock_recv(peer, 4096) for _ in sent]
        assert reads == [framed(crow) for crow in sent]
    finally:
        await gate.close()


async def test_a_peer_that_does_not_read_costs_no_more_than_the_bound(
    recorder: CrowRecorder, listener: socket.socket
) -> None:
    gate = CrowTcpGate(recorder, limits=CrowStreamLimits(queue_size_max=100_000))
    try:
        gate.send(packet(hop_to(listener)))
        with await accepted(listener) as peer:
            await eventually(lambda: gate.counters.packets_out == 1)
            sent = 0
            while not gate.counters.dropped["full"]:
                gate.send(packet(hop_to(listener), bytes(50_000)))
                sent += 1
                assert sent < 1000
            # What was taken arrives whole once the peer reads again.
            size = len(framed(packet(hop_to(listener))))
            size += (sent - 1) * len(framed(packet(hop_to(listener), bytes(50_000))))
            await read(peer, size)
    finally:
        await gate.close()


async def test_garbage_ends_the_connection_and_is_counted(
    gate: CrowTcpGate, recorder: CrowRecorder
) -> None:
    with await connected(gate) as peer:
        peer.send(b"\xff" * 64)
        assert await is_hung_up(peer)
    assert gate.counters.dropped == {"malformed": 1}


async def test_a_frame_without_a_packet_is_counted_and_the_next_one_read(
    gate: CrowTcpGate, recorder: CrowRecorder
) -> None:
    with await connected(gate) as peer:
        peer.send(b"\x00\x00\x00\x05wrong" + bytes(4) + framed(packet(gate.address)))
        await recorder.arrival()
    assert gate.counters.dropped == {"malformed": 1}


async def test_a_stranger_is_hung_up_on_and_not_dialled(recorder: CrowRecorder) -> None:
    gate = CrowTcpGate(recorder, allow=["127.0.0.9"])
    await gate.listen()
    try:
        with await connected(gate) as peer:
            assert await is_hung_up(peer)
        gate.send(packet(udp_hop("127.0.0.1", 9, TCP)))
        assert gate.counters.dropped == {"denied": 2}
    finally:
        await gate.close()


async def test_connections_are_bounded(recorder: CrowRecorder) -> None:
    gate = CrowTcpGate(recorder, limits=CrowStreamLimits(inbound_max=3))
    await gate.listen()
    peers = []
    try:
        for _ in range(3):
            peers.append(await connected(gate))
            peers[-1].send(framed(packet(gate.address)))
        await recorder.arrival(3)
        peers.append(await connected(gate))
        assert await is_hung_up(peers[-1])
        assert gate.counters.dropped == {"refused": 1}
    finally:
        for peer in peers:
            peer.close()
        await gate.close()


async def test_dials_are_bounded(recorder: CrowRecorder, listener: socket.socket) -> None:
    gate = CrowTcpGate(recorder, limits=CrowStreamLimits(dials_max=2))
    for number in range(5):
        gate.send(packet(b"\x0d\x7f\x00\x00" + bytes([number + 1, 0, 9])))
    assert gate.counters.dropped == {"refused": 3}
    await gate.close()


async def test_a_connection_that_stays_silent_is_ended(recorder: CrowRecorder) -> None:
    gate = CrowTcpGate(recorder, limits=CrowStreamLimits(first_packet_s=0.05))
    await gate.listen()
    try:
        with await connected(gate) as peer:
            assert await is_hung_up(peer)
        assert gate.counters.dropped == {"refused": 1}
    finally:
        await gate.close()


async def test_what_was_sent_while_dialling_follows_in_order(
    gate: CrowTcpGate, listener: socket.socket
) -> None:
    sent = [packet(hop_to(listener), b"%d" % number) for number in range(30)]
    for crow in sent:
        gate.send(crow)
    with await accepted(listener) as peer:
        assert await read(peer, len(framed(*sent))) == framed(*sent)


async def test_nobody_there_is_counted_and_tried_again_with_the_next_packet(
    gate: CrowTcpGate, listener: socket.socket
) -> None:
    address = hop_to(listener)
    port = listener.getsockname()[1]
    listener.close()
    gate.send(packet(address))
    await eventually(lambda: gate.counters.dropped["unreachable"] == 1)
    with socket.create_server(("127.0.0.1", port)) as again:
        again.setblocking(False)
        gate.send(packet(address, b"again"))
        with await accepted(again) as peer:
            assert (await read(peer, 4 + 8 + 7 + 5)).endswith(b"again")


async def test_a_lost_connection_is_dialled_anew(
    gate: CrowTcpGate, listener: socket.socket
) -> None:
    gate.send(packet(hop_to(listener), b"one"))
    (await accepted(listener)).close()
    gate.send(packet(hop_to(listener)))  # may fall into the hole
    async with asyncio.timeout(PATIENCE_S):
        while True:
            gate.send(packet(hop_to(listener), b"two"))
            try:
                async with asyncio.timeout(0.05):
                    peer = (await asyncio.get_running_loop().sock_accept(listener))[0]
                break
            except TimeoutError:
                continue
    with peer:
        assert b"two" in await read(peer, 4 + 8 + 7 + 3)


@pytest.mark.parametrize("address", [b"\x0d", b"\x0d\x7f\x00\x00\x01\x12"])
async def test_an_address_that_is_too_short_is_dropped(gate: CrowTcpGate, address: bytes) -> None:
    gate.send(packet(address))
    assert gate.counters.dropped == {"unfit": 1}


async def test_ipv6_is_refused(recorder: CrowRecorder) -> None:
    gate = CrowTcpGate(recorder)
    with pytest.raises(UsageError, match="IPv4 only"):
        await gate.listen("::1")
    await gate.close()


async def test_closing_while_dialling_leaves_nothing_behind(recorder: CrowRecorder) -> None:
    gate = CrowTcpGate(recorder)
    gate.send(packet(udp_hop("127.0.0.1", 9, TCP)))
    await gate.close()
    gate.send(packet(udp_hop("127.0.0.1", 9, TCP)))
    assert gate.counters.dropped["refused"] == 1
