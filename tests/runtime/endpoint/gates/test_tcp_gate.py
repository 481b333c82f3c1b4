"""TCP gate on real loopback sockets (T2, T6, T7)."""

import asyncio
import random
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from rookery.errors import UsageError
from rookery.runtime.endpoint.gates.gate import ConnectionLimits, Gate
from rookery.runtime.endpoint.gates.stream_gate import READ_SIZE
from rookery.runtime.endpoint.gates.tcp_gate import TcpGate
from rookery.runtime.net.address import SocketAddress
from rookery.wire.link.chunking import chunk
from rookery.wire.link.cloak import cloak, reveal
from rookery.wire.link.framing import FRAME_SIZE_MAX, KEEPALIVE, PREFACE, Deframer, frame
from rookery.wire.link.lob import Packet
from rookery.wire.link.path import NetPath, Path, PeerPath, UrlPath
from tests.runtime.flushing_gate import FlushingGate
from tests.runtime.message_channel_pair import until
from tests.runtime.peer import Listener, Peer
from tests.runtime.recorder import Recorder

HELLO = Packet(b"", b"hello").serialize()
HANDSHAKE_3A = Packet(b"\x3a", b"handshake").serialize()
HANDSHAKE_40 = Packet(b"\x40", b"handshake").serialize()
SOON_S = 0.02


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
async def gate(recorder: Recorder) -> AsyncIterator[TcpGate]:
    gate = FlushingGate(recorder)
    yield gate
    await gate.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.close()


def limited(recorder: Recorder, limits: ConnectionLimits) -> TcpGate:
    return FlushingGate(recorder, limits=limits)


async def test_chunks_cut_and_glued_anyhow_arrive_as_packets(
    gate: TcpGate, recorder: Recorder
) -> None:
    stream = b"\0" + chunk(HELLO) + chunk(bytes(2) + b"x" * 600) + b"\0\0" + chunk(HELLO)
    async with await Peer.dial(await gate.listen()) as peer:
        for byte in stream[:20]:
            await peer.send(bytes([byte]))
        await peer.send(stream[20:])
        await recorder.packet(3)
        assert recorder.bodies == [b"hello", b"x" * 600, b"hello"]
        assert {path for path, _ in recorder.packets} == {peer.path()}


async def test_frames_cut_and_glued_anyhow_arrive_as_packets(
    gate: TcpGate, recorder: Recorder
) -> None:
    stream = PREFACE + frame(HELLO) + KEEPALIVE + frame(bytes(2) + b"x" * 70_000) + frame(HELLO)
    async with await Peer.dial(await gate.listen()) as peer:
        for byte in stream[:20]:
            await peer.send(bytes([byte]))
        await peer.send(stream[20:])
        await recorder.packet(3)
        assert recorder.bodies == [b"hello", b"x" * 70_000, b"hello"]


@pytest.mark.parametrize(("opening", "code"), [(b"", chunk), (PREFACE, frame)])
async def test_a_peer_is_answered_in_its_own_framing(
    gate: TcpGate, recorder: Recorder, opening: bytes, code: Callable[[bytes], bytes]
) -> None:
    async with await Peer.dial(await gate.listen()) as peer:
        await peer.send(opening + code(HELLO))
        path, _ = await recorder.packet()
        gate.send(path, HANDSHAKE_3A)
        answer = code(HANDSHAKE_3A)
        assert await peer.read(len(answer)) == answer


@pytest.mark.parametrize("opening", [b"", PREFACE])
async def test_a_cloaked_packet_is_answered_cloaked(
    gate: TcpGate, recorder: Recorder, opening: bytes
) -> None:
    code = frame if opening else chunk
    async with await Peer.dial(await gate.listen()) as peer:
        await peer.send(opening + code(cloak(cloak(HELLO, b"12345678"), b"87654321")))
        path, packet = await recorder.packet()
        assert packet == Packet(b"", b"hello")
        gate.send(path, HANDSHAKE_3A)
        answer = await peer.read(len(code(HANDSHAKE_3A)) + 8)
        head = 4 if opening else 1
        assert answer[head] != 0
        assert reveal(answer[head : head + len(HANDSHAKE_3A) + 8]) == Packet(b"\x3a", b"handshake")


async def test_a_plain_packet_with_a_long_head_is_not_taken_for_a_cloaked_one(
    gate: TcpGate, recorder: Recorder
) -> None:
    packet = Packet.of({"key": "x" * 300})
    async with await Peer.dial(await gate.listen()) as peer:
        await peer.send(chunk(packet.serialize()))
        path, received = await recorder.packet()
        assert received == packet
        gate.send(path, HELLO)
        assert await peer.read(len(chunk(HELLO))) == chunk(HELLO)


async def test_a_first_packet_for_a_rookery_peer_is_dialled_in_frames(
    gate: TcpGate, recorder: Recorder, listener: Listener
) -> None:
    gate.send(listener.path, HANDSHAKE_40)
    gate.send(listener.path, HELLO)
    expected = PREFACE + frame(HANDSHAKE_40) + frame(HELLO)
    async with await listener.accept() as peer:
        assert await peer.read(len(expected)) == expected
        await peer.send(frame(HELLO))
        assert await recorder.packet() == (listener.path, Packet(b"", b"hello"))


async def test_any_other_first_packet_is_dialled_in_chunks(
    gate: TcpGate, recorder: Recorder, listener: Listener
) -> None:
    """T7: the public JavaScript peer wants chunks, uncloaked."""
    gate.send(listener.path, HANDSHAKE_3A)
    gate.send(listener.path, HANDSHAKE_40)
    expected = chunk(HANDSHAKE_3A) + chunk(HANDSHAKE_40)
    async with await listener.accept() as peer:
        assert await peer.read(len(expected)) == expected
        await peer.send(chunk(HELLO))
        assert await recorder.packet() == (listener.path, Packet(b"", b"hello"))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("handshake", [HANDSHAKE_3A, HANDSHAKE_40])
async def test_two_gates_talk_both_ways(host: str, handshake: bytes) -> None:
    theirs, ours = Recorder(), Recorder()
    there, here = FlushingGate(theirs), FlushingGate(ours)
    as_gate: Gate = here
    try:
        path = await there.listen(host)
        assert there.paths == (path,)
        as_gate.send(path, handshake)
        back, packet = await theirs.packet()
        assert packet == Packet.parse(handshake)
        assert back.kind == path.kind
        large = Packet(b"", bytes(100_000)).serialize()
        for _ in range(20):
            there.send(back, large)
        assert await ours.packet(20) == (path, Packet(b"", bytes(100_000)))
        assert here.counters.packets_in == there.counters.packets_out == 20
        await here.close()
        await theirs.until(lambda: theirs.lost_paths == [back])
    finally:
        await here.close()
        await there.close()


async def test_small_packets_of_one_turn_leave_in_one_segment(
    gate: TcpGate, recorder: Recorder
) -> None:
    async with await Peer.dial(await gate.listen()) as peer:
        await peer.send(PREFACE + frame(HELLO))
        path, _ = await recorder.packet()
        for _ in range(50):
            gate.send(path, HELLO)
        assert Deframer().feed(await peer.read_some()) == [HELLO] * 50


async def test_each_read_ends_with_drained_and_answers_leave_then(
    gate: TcpGate, recorder: Recorder
) -> None:
    recorder.react = lambda path, packet: gate.send(path, HELLO)
    async with await Peer.dial(await gate.listen()) as peer:
        await peer.send(PREFACE + frame(HELLO) * 3)
        assert await peer.read(3 * len(frame(HELLO))) == frame(HELLO) * 3
        assert recorder.drains == [3]


async def test_a_part_of_a_packet_wakes_nobody(gate: TcpGate, recorder: Recorder) -> None:
    """Large packets come in several reads, and only the last is news."""
    packet = frame(bytes(2) + b"x" * 1000)
    async with await Peer.dial(await gate.listen()) as peer:
        await peer.send(PREFACE + packet[:500])
        await until(lambda: gate.counters.bytes_in == len(PREFACE) + 500)
        await peer.send(packet[500:])
        await recorder.packet()
        await recorder.until(lambda: bool(recorder.drains))
        assert recorder.drains == [1]


async def test_a_busy_connection_lets_others_have_their_turn(
    gate: TcpGate, recorder: Recorder
) -> None:
    """T7: a turn brings a little, what one read brings, and what that completes."""
    loop, turns, packets = asyncio.get_running_loop(), 0, Counter[int]()

    def turn() -> None:
        nonlocal turns
        turns += 1
        ticking.append(loop.call_soon(turn))

    ticking = [loop.call_soon(turn)]
    recorder.react = lambda *_: packets.update((turns,))
    packet = frame(bytes(2) + b"x" * 100_000)
    async with await Peer.dial(await gate.listen()) as peer:
        await peer.send(PREFACE + packet * 50)
        await recorder.packet(50)
    ticking[-1].cancel()
    assert max(packets.values()) * len(packet) <= (1 << 16) + READ_SIZE + len(packet)


async def test_large_packets_arrive_whole_before_and_after_the_peer_was_answered(
    gate: TcpGate, recorder: Recorder
) -> None:
    """Then the rest of each is read to where it belongs, and what follows it is not lost."""
    bodies = [bytes([number]) * (90_000 + 7 * number) for number in range(1, 30)]
    async with await Peer.dial(await gate.listen()) as peer:
        await peer.send(PREFACE + b"".join(frame(bytes(2) + body) for body in bodies))
        path, _ = await recorder.packet(len(bodies))
        gate.send(path, HELLO)
        assert await peer.read(len(frame(HELLO))) == frame(HELLO)
        await peer.send(b"".join(frame(bytes(2) + body) for body in bodies))
        await recorder.packet(2 * len(bodies))
    assert recorder.bodies == 2 * bodies


async def test_a_silent_connection_is_closed_without_a_word(recorder: Recorder) -> None:
    gate = limited(recorder, ConnectionLimits(first_packet_s=SOON_S))
    try:
        async with await Peer.dial(await gate.listen()) as peer:
            assert await peer.read_to_end() == b""
        assert gate.counters.refused == 1
        assert recorder.lost_paths == []  # nobody had heard of it
    finally:
        await gate.close()


@pytest.mark.parametrize("first", [b"\0", b"G", PREFACE, chunk(HELLO)[:-1], b"GET / HTTP/1.1\r\n"])
async def test_half_a_packet_does_not_keep_a_connection_open(
    recorder: Recorder, first: bytes
) -> None:
    gate = limited(recorder, ConnectionLimits(first_packet_s=SOON_S))
    try:
        async with await Peer.dial(await gate.listen()) as peer:
            await peer.send(first)
            assert await peer.read_to_end() == b""
    finally:
        await gate.close()


async def test_a_connection_that_the_mesh_never_answers_is_closed(recorder: Recorder) -> None:
    gate = limited(recorder, ConnectionLimits(first_packet_s=SOON_S, answer_s=SOON_S))
    try:
        async with await Peer.dial(await gate.listen()) as peer:
            await peer.send(chunk(HELLO))
            assert await peer.read_to_end() == b""
            await recorder.until(lambda: recorder.lost_paths == [peer.path()])
    finally:
        await gate.close()


async def test_an_answered_connection_outlives_its_limits(recorder: Recorder) -> None:
    gate = limited(recorder, ConnectionLimits(first_packet_s=SOON_S, answer_s=SOON_S))
    recorder.react = lambda path, packet: gate.send(path, HELLO)
    try:
        path = await gate.listen()
        async with await Peer.dial(path) as peer, await Peer.dial(path) as silent:
            await peer.send(chunk(HELLO))
            await silent.read_to_end()
            await peer.send(chunk(HELLO))
            assert await peer.read(2 * len(chunk(HELLO))) == chunk(HELLO) * 2
    finally:
        await gate.close()


@pytest.mark.parametrize(
    "garbage",
    [
        PREFACE + (FRAME_SIZE_MAX + 1).to_bytes(4, "big"),
        chunk(bytes(FRAME_SIZE_MAX + 1))[:-1],
        PREFACE + frame(b"\x00\xff\x00"),
        chunk(b"\x00\xff\x00"),
        chunk(b"short"),
    ],
    ids=["overlong frame", "overlong chunks", "framed junk", "chunked junk", "no packet"],
)
async def test_garbage_closes_the_connection_without_a_word(
    gate: TcpGate, recorder: Recorder, garbage: bytes
) -> None:
    async with await Peer.dial(await gate.listen()) as peer:
        await peer.send(garbage)
        assert await peer.read_to_end() == b""
    assert gate.counters.malformed == 1
    assert recorder.packets == []


@pytest.mark.slow
async def test_hostile_bytes_never_escape_and_are_never_answered(
    gate: TcpGate, recorder: Recorder
) -> None:
    """T6: two thousand strangers with random and mutated bytes."""
    dice = random.Random(42424)
    path = await gate.listen()

    async def attack(data: bytes) -> bytes:
        async with await Peer.dial(path) as peer:
            try:
                await peer.send(data)
                peer.finish()
                return await peer.read_to_end()
            except (ConnectionResetError, BrokenPipeError):
                return b""

    for index in range(2000):
        data = dice.randbytes(dice.randrange(1, 300))
        if index % 2:
            mutated = bytearray((PREFACE + frame(HELLO)) if index % 4 == 1 else chunk(HELLO))
            mutated[dice.randrange(len(mutated))] ^= 1 << dice.randrange(8)
            data = bytes(mutated) + data
        assert await attack(data) == b""
    assert gate.counters.malformed > 200
    assert gate.counters.packets_out == 0
    async with await Peer.dial(path) as friend:
        await friend.send(chunk(Packet(b"", b"still here").serialize()))
        await recorder.until(lambda: b"still here" in recorder.bodies)


async def test_a_peer_that_leaves_is_lost(gate: TcpGate, recorder: Recorder) -> None:
    async with await Peer.dial(await gate.listen()) as peer:
        await peer.send(chunk(HELLO))
        path, _ = await recorder.packet()
    await recorder.until(lambda: recorder.lost_paths == [path])


async def test_a_dial_that_nobody_answers_is_lost(gate: TcpGate, recorder: Recorder) -> None:
    listener = Listener()
    path = listener.path
    listener.close()
    gate.send(path, HELLO)
    assert recorder.lost_paths == []
    await recorder.until(lambda: recorder.lost_paths == [path])
    assert gate.counters.refused == 1


async def test_a_dial_takes_no_longer_than_allowed(recorder: Recorder) -> None:
    """A listener whose queue is full lets connections hang."""
    gate = limited(recorder, ConnectionLimits(dial_s=SOON_S))
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        path = NetPath("tcp4", *full.getsockname())
        fillers = [socket.socket() for _ in range(3)]
        try:
            for filler in fillers:
                filler.setblocking(False)
                filler.connect_ex(path.address)
            gate.send(path, HELLO)
            await recorder.until(lambda: recorder.lost_paths == [path])
        finally:
            for filler in fillers:
                filler.close()
            await gate.close()


async def test_a_lost_path_is_dialled_again(
    gate: TcpGate, recorder: Recorder, listener: Listener
) -> None:
    for attempt in range(1, 3):
        gate.send(listener.path, HELLO)
        async with await listener.accept() as peer:
            assert await peer.read(len(chunk(HELLO))) == chunk(HELLO)
        await recorder.until(lambda: len(recorder.lost_paths) == attempt)  # noqa: B023


async def test_whoever_accepts_but_never_answers_is_let_go(
    recorder: Recorder, listener: Listener
) -> None:
    gate = limited(recorder, ConnectionLimits(dial_s=SOON_S, answer_s=SOON_S))
    try:
        gate.send(listener.path, HELLO)
        async with await listener.accept() as peer:
            assert await peer.read_to_end() == chunk(HELLO)
        await recorder.until(lambda: recorder.lost_paths == [listener.path])
    finally:
        await gate.close()


async def test_packets_beyond_the_dial_queue_are_dropped(
    recorder: Recorder, listener: Listener
) -> None:
    gate = limited(recorder, ConnectionLimits(dial_queue_size_max=10 * len(HELLO)))
    try:
        for _ in range(12):
            gate.send(listener.path, HELLO)
        assert gate.counters.dropped == 2
        async with await listener.accept() as peer:
            assert await peer.read(10 * len(chunk(HELLO))) == chunk(HELLO) * 10
    finally:
        await gate.close()


async def test_packets_beyond_the_write_queue_are_dropped(
    gate: TcpGate, recorder: Recorder
) -> None:
    """The peer does not read; the gate keeps no more than 4 MiB for it."""
    large = Packet(b"", bytes(60_000)).serialize()
    async with await Peer.dial(await gate.listen()) as peer:
        await peer.send(PREFACE + frame(HELLO))
        path, _ = await recorder.packet()
        for _ in range(200):
            gate.send(path, large)
        assert gate.counters.dropped > 0
        sent = gate.counters.packets_out
        assert sent + gate.counters.dropped == 200
        assert sent * len(large) <= 4 << 20
        stream = await peer.read(sent * len(frame(large)))
        assert Deframer().feed(stream) == [large] * sent


async def test_an_oversized_packet_is_dropped(gate: TcpGate, listener: Listener) -> None:
    gate.send(listener.path, HELLO)
    async with await listener.accept() as peer:
        await peer.read(len(chunk(HELLO)))
        gate.send(listener.path, bytes(FRAME_SIZE_MAX + 1))
        gate.send(listener.path, HELLO)
        assert await peer.read(len(chunk(HELLO))) == chunk(HELLO)
    assert gate.counters.dropped == 1


async def test_too_many_dials_at_once_are_refused(recorder: Recorder, listener: Listener) -> None:
    gate = limited(recorder, ConnectionLimits(dials_max=1))
    other = NetPath("tcp4", "127.0.0.2", listener.path.port)
    try:
        gate.send(listener.path, HELLO)
        gate.send(other, HELLO)
        await recorder.until(lambda: recorder.lost_paths == [other])
        assert (gate.counters.refused, gate.counters.dropped) == (1, 1)
    finally:
        await gate.close()


async def test_connections_beyond_the_limit_are_refused(recorder: Recorder) -> None:
    gate = limited(recorder, ConnectionLimits(inbound_max=4))
    recorder.react = lambda path, packet: gate.send(path, HELLO)
    try:
        path = await gate.listen()
        friends = [await Peer.dial(path) for _ in range(2)]
        for friend in friends:  # once answered, they are no strangers
            await friend.send(chunk(HELLO))
            await friend.read(len(chunk(HELLO)))
        strangers = [await Peer.dial(path) for _ in range(2)]
        async with await Peer.dial(path) as late:
            assert await late.read_to_end() == b""
        assert gate.counters.refused == 1
        for peer in friends + strangers:
            peer.close()
    finally:
        await gate.close()


async def test_strangers_from_one_address_get_half_of_the_places(recorder: Recorder) -> None:
    gate = limited(recorder, ConnectionLimits(inbound_max=4))
    try:
        path = await gate.listen()
        first, second = await Peer.dial(path), await Peer.dial(path)
        async with first, second:
            await second.send(chunk(HELLO))  # a packet alone does not make a friend
            left, _ = await recorder.packet()
            async with await Peer.dial(path) as third:
                assert await third.read_to_end() == b""
            second.close()
            await recorder.until(lambda: recorder.lost_paths == [left])
            async with await Peer.dial(path) as third:
                await third.send(chunk(HELLO))
                await recorder.packet(2)
    finally:
        await gate.close()


@pytest.mark.parametrize(
    "path",
    [
        PeerPath("a" * 52),
        NetPath("udp4", "127.0.0.1", 4242),
        NetPath("ws4", "127.0.0.1", 4242),
        NetPath("tcp4", "127.0.0.1", 70_000),
        NetPath("tcp4", "\0", 4242),
        NetPath("tls4", "", 4242),
        UrlPath("http://"),
        UrlPath("http://[::1"),
        UrlPath("http://127.0.0.1:99999/"),
        UrlPath("http://127.0.0.1/ \r\nX: y"),
        UrlPath("https://."),
    ],
    ids=str,
)
async def test_a_path_that_cannot_be_dialled_is_lost(
    gate: TcpGate, recorder: Recorder, path: Path
) -> None:
    gate.send(path, HELLO)
    await recorder.until(lambda: recorder.lost_paths == [path])


async def test_a_busy_port_is_one_clear_line(gate: TcpGate) -> None:
    path = await gate.listen()
    line = rf"^tcp port {path.port} on 127.0.0.1 is already in use$"
    with pytest.raises(UsageError, match=line):
        await gate.listen("127.0.0.1", path.port)


async def test_close_writes_what_was_sent_and_frees_the_port(recorder: Recorder) -> None:
    gate = FlushingGate(recorder)
    path = await gate.listen()
    async with await Peer.dial(path) as peer:
        await peer.send(chunk(HELLO))
        back, _ = await recorder.packet()
        gate.send(back, HELLO)
        await gate.close()
        assert await peer.read_to_end() == chunk(HELLO)
    await gate.close()
    gate.send(path, HELLO)
    assert gate.counters.dropped == 1
    again = FlushingGate(recorder)
    assert await again.listen("127.0.0.1", path.port) == path
    await again.close()


async def test_close_ends_a_dial_under_way(recorder: Recorder, listener: Listener) -> None:
    gate = FlushingGate(recorder)
    gate.send(listener.path, HELLO)
    await gate.close()
    assert recorder.lost_paths == [listener.path]


async def test_connections_from_an_address_that_is_gone_are_ended(
    gate: TcpGate, recorder: Recorder, listener: Listener
) -> None:
    """A machine that moved: its system would go on sending into the void for minutes."""
    gate.send(listener.path, HELLO)
    async with await listener.accept() as peer:
        await peer.send(chunk(HELLO))
        await recorder.packet()
        asked: list[str] = []

        def is_gone(address: SocketAddress) -> bool:
            asked.append(address[0])
            return len(asked) > 1

        gate.hang_up_from(is_gone)
        gate.send(listener.path, HELLO)
        assert recorder.lost_paths == []
        gate.hang_up_from(is_gone)
        await recorder.until(lambda: bool(recorder.lost_paths))
    assert asked == ["127.0.0.1"] * 2
    assert recorder.lost_paths == [listener.path]
