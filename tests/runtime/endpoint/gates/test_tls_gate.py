"""The TCP gate inside TLS, on real loopback sockets."""

import random
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rookery.runtime.endpoint.gates.gate import ConnectionLimits
from rookery.runtime.endpoint.gates.tcp_gate import TcpGate
from rookery.runtime.endpoint.gates.tls import server_context
from rookery.wire.link.lob import Packet
from rookery.wire.link.path import NetPath
from tests.runtime.certificate import self_signed
from tests.runtime.flushing_gate import FlushingGate
from tests.runtime.peer import Listener, Peer
from tests.runtime.recorder import Recorder

HANDSHAKES = [Packet(b"\x3a", b"handshake").serialize(), Packet(b"\x40", b"handshake").serialize()]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return self_signed(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
async def gate(recorder: Recorder) -> AsyncIterator[TcpGate]:
    gate = FlushingGate(recorder, limits=ConnectionLimits(first_packet_s=0.5))
    yield gate
    await gate.close()


@pytest.mark.parametrize("handshake", HANDSHAKES, ids=["chunks", "frames"])
async def test_two_gates_talk_both_ways(
    gate: TcpGate, recorder: Recorder, files: tuple[Path, Path], handshake: bytes
) -> None:
    path = await gate.listen(tls=server_context(*files))
    assert path.kind == "tls4"
    ours = Recorder()
    here = FlushingGate(ours)
    try:
        here.send(path, handshake)
        back, packet = await recorder.packet()
        assert (back.kind, packet) == ("tls4", Packet.parse(handshake))
        large = Packet(b"", bytes(100_000)).serialize()
        for _ in range(20):
            gate.send(back, large)
        assert await ours.packet(20) == (path, Packet(b"", bytes(100_000)))
        await here.close()
        await recorder.until(lambda: recorder.lost_paths == [back])
    finally:
        await here.close()


async def test_a_gate_told_to_verify_dials_only_whom_it_trusts(
    gate: TcpGate, recorder: Recorder, files: tuple[Path, Path]
) -> None:
    path = await gate.listen(tls=server_context(*files))
    wary, trusting = Recorder(), Recorder()
    refusing = FlushingGate(wary, tls=ssl.create_default_context())
    accepting = FlushingGate(trusting, tls=ssl.create_default_context(cafile=files[0]))
    try:
        refusing.send(path, HANDSHAKES[0])
        await wary.until(lambda: wary.lost_paths == [path])
        assert recorder.packets == []
        accepting.send(path, HANDSHAKES[0])
        await recorder.packet()
    finally:
        await refusing.close()
        await accepting.close()


async def test_hostile_bytes_get_no_answer(
    gate: TcpGate, recorder: Recorder, files: tuple[Path, Path]
) -> None:
    """T6: not even an alert of TLS."""
    path = await gate.listen(tls=server_context(*files))
    dice = random.Random(42424)
    for _ in range(500):
        async with await Peer.dial(path) as peer:
            try:
                await peer.send(dice.randbytes(dice.randrange(1, 300)))
                peer.finish()
                assert await peer.read_to_end() == b""
            except (ConnectionResetError, BrokenPipeError):
                pass
    assert gate.counters.malformed > 400
    assert recorder.packets == []


async def test_an_unfinished_handshake_counts_and_ends(
    gate: TcpGate, files: tuple[Path, Path]
) -> None:
    path = await gate.listen(tls=server_context(*files))
    async with await Peer.dial(path) as peer:
        await peer.send(b"\x16\x03\x01")
        assert await peer.read_to_end() == b""
    assert gate.counters.refused == 1


async def test_whoever_does_not_answer_in_tls_is_lost(recorder: Recorder) -> None:
    gate = FlushingGate(recorder, limits=ConnectionLimits(dial_s=0.05))
    listener = Listener()
    path = NetPath("tls4", *listener.path.address)
    try:
        gate.send(path, HANDSHAKES[0])
        async with await listener.accept():
            await recorder.until(lambda: recorder.lost_paths == [path])
    finally:
        listener.close()
        await gate.close()
