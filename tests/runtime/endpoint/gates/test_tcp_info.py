"""M2: what Linux knows of a connection, read from real ones on loopback."""

import asyncio
import contextlib
import ctypes
import socket
import sys
from collections.abc import Iterator

import pytest
import uvloop

from rookery.mesh.quality.path_quality import StreamMeasure
from rookery.runtime.endpoint.gates.tcp_info import TcpInfoSocket, measure

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has TCP_INFO")

MESSAGE = bytes(1 << 16)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
        with near, far:
            yield near, far


def exchange(near: socket.socket, far: socket.socket, times: int) -> None:
    for _ in range(times):
        near.sendall(MESSAGE)
        left = len(MESSAGE)
        while left:
            left -= len(far.recv(left))
        far.sendall(b"!")
        assert near.recv(1) == b"!"


def known(sock: TcpInfoSocket) -> StreamMeasure:
    found = measure(sock)
    assert found is not None
    return found


def test_a_connection_in_use_is_measured(pair: tuple[socket.socket, socket.socket]) -> None:
    """M2"""
    near, far = pair
    exchange(near, far, 1)
    before = known(near)
    exchange(near, far, 50)
    after = known(near)
    assert 0 < after.rtt_s < 1
    assert 0 <= after.rttvar_s < 1
    assert before.segments < after.segments < 50 * len(MESSAGE)
    assert after.retransmits <= after.segments
    assert after.rate is not None
    assert 1e5 < after.rate < 1e12


class TcpInfo(ctypes.Structure):
    """The beginning of `struct tcp_info`, laid out by C's own rules."""

    _fields_ = [
        *[(f"byte{index}", ctypes.c_uint8) for index in range(7)],
        ("app_limited", ctypes.c_uint8, 1),
        *[(f"before_rtt{index}", ctypes.c_uint32) for index in range(15)],
        ("rtt", ctypes.c_uint32),
        ("rttvar", ctypes.c_uint32),
        *[(f"after_rtt{index}", ctypes.c_uint32) for index in range(6)],
        ("total_retrans", ctypes.c_uint32),
        *[(f"long{index}", ctypes.c_uint64) for index in range(4)],
        *[(f"segments{index}", ctypes.c_uint32) for index in range(2)],
        ("notsent_bytes", ctypes.c_uint32),
        ("min_rtt", ctypes.c_uint32),
        ("data_segs_in", ctypes.c_uint32),
        ("data_segs_out", ctypes.c_uint32),
        ("delivery_rate", ctypes.c_uint64),
    ]


class Canned:
    """A socket that tells what it is told to."""

    def __init__(self, info: bytes) -> None:
        self.info = info

    def getsockopt(self, level: int, option: int, size: int, /) -> bytes:
        assert (level, option) == (socket.IPPROTO_TCP, socket.TCP_INFO)
        return self.info[:size]


def test_every_field_is_read_from_its_place() -> None:
    info = TcpInfo(
        app_limited=1,
        rtt=40_000,
        rttvar=2_000,
        total_retrans=7,
        notsent_bytes=555,
        min_rtt=30_000,
        data_segs_out=1000,
        delivery_rate=123_456,
    )
    assert ctypes.sizeof(info) == 168
    expected = StreamMeasure(
        0.04, 0.002, 1000, 7, 123_456.0, is_app_limited=True, unsent=555, rtt_min_s=0.03
    )
    assert measure(Canned(bytes(info))) == expected
    assert measure(Canned(bytes(info) + bytes(64))) == expected, "later kernels tell more"


def test_what_nobody_reads_is_unsent(pair: tuple[socket.socket, socket.socket]) -> None:
    near, _ = pair
    assert known(near).unsent == 0
    near.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            near.send(MESSAGE)
    assert known(near).unsent > 0


def test_nothing_measured_is_no_rate_and_no_round_trip() -> None:
    nothing = known(Canned(bytes(200)))
    assert (nothing.rate, nothing.rtt_min_s) == (None, None)
    assert known(Canned(bytes(TcpInfo(min_rtt=0xFFFFFFFF)))).rtt_min_s is None


def test_the_least_round_trip_is_no_longer_than_the_usual_one(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    near, far = pair
    near.sendall(MESSAGE)
    far.recv(len(MESSAGE))
    measure = known(near)
    assert measure.rtt_min_s is not None
    assert 0 < measure.rtt_min_s <= measure.rtt_s + 1e-6


def test_an_old_kernel_tells_too_little() -> None:
    assert measure(Canned(bytes(104))) is None


def test_a_socket_that_is_closed_or_of_another_kind_is_not_measured() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        assert measure(udp) is None
    assert measure(udp) is None


def test_other_systems_cannot_tell(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert measure(pair[0]) is None


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_the_sockets_that_event_loops_show_will_do(loop: str) -> None:
    async def measured() -> StreamMeasure | None:
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
        async with server:
            address = server.sockets[0].getsockname()
            reader, writer = await asyncio.open_connection(*address)
            await reader.read()
            found = measure(writer.get_extra_info("socket"))
            writer.close()
            await writer.wait_closed()
        return found

    found = uvloop.run(measured()) if loop == "uvloop" else asyncio.run(measured())
    assert found is not None
