"""The TCP gate as a web server and as its client, on real loopback sockets."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rookery.runtime.endpoint.gates.tcp_gate import TcpGate
from rookery.runtime.endpoint.gates.tls import server_context
from rookery.wire.link.lob import JsonObject, Packet
from rookery.wire.link.path import NetPath, UrlPath
from tests.runtime.certificate import self_signed
from tests.runtime.flushing_gate import FlushingGate
from tests.runtime.peer import Listener, Peer
from tests.runtime.recorder import Recorder

HELLO = Packet(b"", b"hello").serialize()
GET = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
async def gate(recorder: Recorder) -> AsyncIterator[TcpGate]:
    gate = FlushingGate(recorder, resource="/door")
    yield gate
    await gate.close()


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_two_gates_talk_both_ways(
    gate: TcpGate, recorder: Recorder, scheme: str, tmp_path: Path
) -> None:
    tls = server_context(*self_signed(tmp_path)) if scheme == "https" else None
    listening = await gate.listen(tls=tls)
    url = UrlPath(f"{scheme}://127.0.0.1:{listening.port}/door")
    ours = Recorder()
    here = FlushingGate(ours)
    try:
        here.send(url, HELLO)
        here.send(url, HELLO)
        back, packet = await recorder.packet(2)
        assert isinstance(back, NetPath)
        assert (back.kind, back.ip, packet) == ("ws4", "127.0.0.1", Packet(b"", b"hello"))
        large = Packet(b"", bytes(100_000)).serialize()
        for _ in range(5):
            gate.send(back, large)
        assert await ours.packet(5) == (url, Packet(b"", bytes(100_000)))
        await here.close()
        await recorder.until(lambda: recorder.lost_paths == [back])
    finally:
        await here.close()


async def test_an_upgrade_elsewhere_is_refused_and_lost(gate: TcpGate, recorder: Recorder) -> None:
    """T6: whoever does not know the resource learns nothing."""
    listening = await gate.listen()
    url = UrlPath(f"http://127.0.0.1:{listening.port}/")
    ours = Recorder()
    here = FlushingGate(ours)
    try:
        here.send(url, HELLO)
        await ours.until(lambda: ours.lost_paths == [url])
        assert recorder.packets == []
    finally:
        await here.close()


async def test_a_browser_sees_the_link_only_while_discovery_is_on(recorder: Recorder) -> None:
    """T6."""
    shown: JsonObject | None = None
    gate = FlushingGate(recorder, link_json=lambda: shown)
    try:
        path = await gate.listen()
        async with await Peer.dial(path) as peer:
            await peer.send(GET)
            assert (await peer.read_to_end()).startswith(b"HTTP/1.1 404 ")
        assert gate.counters.refused == 1
        shown = {"hashname": "abc"}
        async with await Peer.dial(path) as peer:
            await peer.send(GET)
            assert (await peer.read_to_end()).endswith(b'{"hashname":"abc"}')
        assert recorder.packets == []
    finally:
        await gate.close()


@pytest.mark.slow
async def test_whoever_pings_but_never_reads_is_cut_off(gate: TcpGate, recorder: Recorder) -> None:
    path = await gate.listen()
    upgrade = (
        b"GET /door HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    packet = b"\x82" + bytes([0x80 | len(HELLO)]) + bytes(4) + HELLO
    pings = (b"\x89\xfd" + bytes(4) + bytes(125)) * 500
    async with await Peer.dial(path) as peer:
        await peer.send(upgrade + packet)
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            await peer.send(pings * 1000)
        await recorder.until(lambda: recorder.lost_paths == [peer.path("ws")])


async def test_a_web_server_that_knows_nothing_of_us_is_lost(
    gate: TcpGate, recorder: Recorder
) -> None:
    listener = Listener()
    url = UrlPath(f"http://127.0.0.1:{listener.path.port}/")
    try:
        gate.send(url, HELLO)
        async with await listener.accept() as peer:
            request = await peer.read_some()
            assert request.startswith(b"GET / HTTP/1.1\r\n")
            await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
            assert await peer.read_to_end() == b""
        await recorder.until(lambda: recorder.lost_paths == [url])
    finally:
        listener.close()
