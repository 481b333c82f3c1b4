"""UDP gate on real loopback sockets (T2, T7)."""

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Iterator

import pytest

from rookery.errors import UsageError
from rookery.link.discovery.announcement import MULTICAST_GROUP
from rookery.runtime.endpoint.gates.burst_socket import BATCH_MAX
from rookery.runtime.endpoint.gates.gate import Gate
from rookery.runtime.endpoint.gates.udp_gate import UdpGate
from rookery.wire.link.cloak import cloak, reveal
from rookery.wire.link.lob import Packet
from rookery.wire.link.path import NetPath, UrlPath
from tests.patience import PATIENCE_S
from tests.runtime.recorder import Recorder

HELLO = Packet(b"", b"hello").serialize()


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
async def gate(recorder: Recorder) -> AsyncIterator[UdpGate]:
    gate = await UdpGate.bind(recorder)
    yield gate
    await gate.close()


@pytest.fixture
def peer() -> Iterator[socket.socket]:
    """A foreign endpoint: a plain socket, read with a bounded wait."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.setblocking(False)
        yield sock


def address_of(gate: UdpGate) -> tuple[str, int]:
    (path,) = gate.paths
    assert isinstance(path, NetPath)
    return path.address


def path_of(sock: socket.socket) -> NetPath:
    ip, port = sock.getsockname()
    return NetPath("udp4", ip, port)


async def datagram(sock: socket.socket) -> bytes:
    async with asyncio.timeout(PATIENCE_S):
        return await asyncio.get_running_loop().sock_recv(sock, 0xFFFF)


async def test_binds_to_loopback_unless_told_otherwise(gate: UdpGate) -> None:
    as_gate: Gate = gate
    (path,) = as_gate.paths
    assert isinstance(path, NetPath)
    assert (path.kind, path.ip) == ("udp4", "127.0.0.1")
    assert as_gate.kinds == {"udp4"}


async def test_a_cloaked_datagram_arrives_as_a_packet_from_its_sender(
    gate: UdpGate, recorder: Recorder, peer: socket.socket
) -> None:
    peer.sendto(cloak(HELLO, b"12345678"), address_of(gate))
    assert await recorder.packet() == (path_of(peer), Packet(b"", b"hello"))


async def test_a_plain_datagram_is_accepted(
    gate: UdpGate, recorder: Recorder, peer: socket.socket
) -> None:
    peer.sendto(HELLO, address_of(gate))
    assert await recorder.packet() == (path_of(peer), Packet(b"", b"hello"))


async def test_what_is_sent_is_cloaked_and_never_twice_alike(
    gate: UdpGate, peer: socket.socket
) -> None:
    gate.send(path_of(peer), HELLO)
    gate.send(path_of(peer), HELLO)
    first, second = await datagram(peer), await datagram(peer)
    assert first != second
    assert first[0] != 0
    assert reveal(first) == reveal(second) == Packet(b"", b"hello")
    assert gate.counters.packets_out == 2
    assert gate.counters.bytes_out == len(first) + len(second)


async def test_a_plain_datagram_can_be_sent_for_discovery(
    gate: UdpGate, peer: socket.socket
) -> None:
    gate.send_plain(path_of(peer), HELLO)
    assert await datagram(peer) == HELLO


async def test_an_announcement_from_loopback_is_heard_on_loopback(gate: UdpGate) -> None:
    """T6"""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as group:
        group.setblocking(False)
        group.bind((MULTICAST_GROUP, 0))
        membership = socket.inet_aton(MULTICAST_GROUP) + socket.inet_aton("127.0.0.1")
        group.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
        gate.send_plain(path_of(group), HELLO)
        assert await datagram(group) == HELLO


async def test_two_gates_talk_over_ipv6(recorder: Recorder) -> None:
    here, there = await UdpGate.bind(recorder, "::1"), await UdpGate.bind(Recorder(), "::1")
    try:
        (target,) = here.paths
        there.send(target, HELLO)
        assert await recorder.packet() == (there.paths[0], Packet(b"", b"hello"))
        assert target.kind == "udp6"
    finally:
        await here.close()
        await there.close()


def buffered_datagrams() -> int:
    """How many small datagrams the largest buffer of this system holds; each is kept in a page."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        return probe.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 4096


async def test_a_burst_of_two_thousand_is_received_whole_and_in_batches(
    gate: UdpGate, recorder: Recorder, peer: socket.socket
) -> None:
    """Nobody reads while it arrives: as much as the system allows waits in the socket's buffer."""
    burst = [index.to_bytes(2, "big") for index in range(2000)]
    at_once = buffered_datagrams()
    for start in range(0, len(burst), at_once):
        part = burst[start : start + at_once]
        for body in part:
            peer.sendto(cloak(Packet(b"", body).serialize(), body * 4), address_of(gate))
        await recorder.packet(start + len(part))
    assert recorder.bodies == burst
    assert max(recorder.drains) == BATCH_MAX
    assert gate.counters.packets_in == len(burst)


async def test_answers_given_at_the_end_of_a_batch_reach_their_senders(
    gate: UdpGate, recorder: Recorder, peer: socket.socket
) -> None:
    recorder.react = lambda path, packet: gate.send(path, packet.serialize())
    peer.sendto(HELLO, address_of(gate))
    assert reveal(await datagram(peer)) == Packet(b"", b"hello")


async def test_hostile_datagrams_are_counted_and_never_answered(
    gate: UdpGate, recorder: Recorder, peer: socket.socket
) -> None:
    """T6: three thousand random datagrams, some of them mutated packets."""
    dice = random.Random(42424)
    count = 3000
    for index in range(count):
        data = dice.randbytes(dice.randrange(1, 200))
        if index % 3 == 0:
            mutated = bytearray(cloak(HELLO * 5, dice.randbytes(8)))
            mutated[dice.randrange(len(mutated))] ^= 1 << dice.randrange(8)
            data = bytes(mutated)
        peer.sendto(data, address_of(gate))
        if index % 500 == 0:
            await asyncio.sleep(0)
    counters = gate.counters
    await recorder.until(lambda: counters.malformed + counters.packets_in == count)
    assert counters.malformed > count // 2
    assert counters.packets_out == counters.bytes_out == 0
    with pytest.raises(BlockingIOError):
        peer.recv(1)


async def test_an_empty_datagram_is_malformed(
    gate: UdpGate, recorder: Recorder, peer: socket.socket
) -> None:
    peer.sendto(b"", address_of(gate))
    await recorder.until(lambda: gate.counters.malformed == 1)


@pytest.mark.parametrize(
    "path",
    [
        NetPath("udp4", "localhost", 4242),  # a name would be asked of the DNS
        NetPath("udp4", "127.0.0.1", 0),
        NetPath("udp4", "255.255.255.255", 4242),
        NetPath("udp6", "::1", 4242),
        NetPath("tcp4", "127.0.0.1", 4242),
        UrlPath("http://127.0.0.1/"),
    ],
)
async def test_what_cannot_be_sent_is_dropped_and_counted(
    gate: UdpGate, path: NetPath | UrlPath
) -> None:
    gate.send(path, HELLO)
    await gate.close()
    assert gate.counters.dropped == 1
    assert gate.counters.packets_out == 0


async def test_a_packet_too_large_for_a_datagram_is_dropped(
    gate: UdpGate, peer: socket.socket
) -> None:
    gate.send(path_of(peer), bytes(70_000))
    assert gate.counters.dropped == 1
    gate.send(path_of(peer), HELLO)
    assert reveal(await datagram(peer)) == Packet(b"", b"hello")


@pytest.mark.parametrize("sizes", [[1200] * 300, [1200] * 70 + [5, 1200, 1201, 5, 5], [9, 8, 7]])
async def test_what_is_sent_in_one_turn_arrives_in_order_whatever_its_sizes(
    gate: UdpGate, recorder: Recorder, sizes: list[int]
) -> None:
    """Runs of equal datagrams cross the kernel as one, and are cut apart again."""
    bodies = [index.to_bytes(2, "big") + bytes(size) for index, size in enumerate(sizes)]
    sender = await UdpGate.bind(Recorder())
    for body in bodies:
        sender.send(gate.paths[0], Packet(b"", body).serialize())
    await recorder.packet(len(bodies))
    await sender.close()
    assert recorder.bodies == bodies
    assert sender.counters.packets_out == gate.counters.packets_in == len(bodies)
    assert sender.counters.bytes_out == gate.counters.bytes_in


async def test_what_goes_to_several_addresses_in_one_turn_reaches_each(
    gate: UdpGate, recorder: Recorder, peer: socket.socket
) -> None:
    sender = await UdpGate.bind(Recorder())
    for _ in range(3):
        sender.send(gate.paths[0], HELLO)
        sender.send(path_of(peer), HELLO)
    await recorder.packet(3)
    for _ in range(3):
        assert reveal(await datagram(peer)) == Packet(b"", b"hello")
    await sender.close()


@pytest.mark.parametrize("zone", ["", "%nosuchzone", "%999999999", "%1", "%"])
async def test_link_local_addresses_never_raise(recorder: Recorder, zone: str) -> None:
    gate = await UdpGate.bind(recorder, "::1")
    try:
        gate.send(NetPath("udp6", "fe80::1" + zone, 4242), HELLO)
    finally:
        await gate.close()


async def test_a_closed_port_at_the_other_end_does_no_harm(
    gate: UdpGate, recorder: Recorder, peer: socket.socket
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = path_of(closed)
    for _ in range(10):
        gate.send(nobody, HELLO)
    peer.sendto(HELLO, address_of(gate))
    await recorder.packet()


async def test_datagrams_wait_while_the_socket_is_full_and_the_rest_is_dropped(
    peer: socket.socket, recorder: Recorder
) -> None:
    """A pair of local sockets: unlike UDP on loopback, the sender is held back."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with theirs:
        theirs.setblocking(False)
        gate = UdpGate(recorder, _Addressless(ours))
        target = path_of(peer)
        for _ in range(2000):
            gate.send(target, HELLO)
        sent = gate.counters.packets_out
        dropped = gate.counters.dropped
        assert 0 < sent < 2000
        assert dropped > 0
        waiting = 2000 - sent - dropped
        for _ in range(sent + waiting):
            assert reveal(await datagram(theirs)) == Packet(b"", b"hello")
        assert gate.counters.packets_out == sent + waiting
        await gate.close()


class _Addressless(socket.socket):
    """A connected local socket that answers to a UDP socket's calls."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock.family, sock.type, fileno=sock.detach())
        self.setblocking(False)

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", 42424

    def setsockopt(self, *_: object) -> None:
        """Its buffer stays as small as it is."""
        raise OSError("not a UDP socket")

    def sendto(self, data: bytes, address: tuple[str, int]) -> int:  # type: ignore[override]
        return self.send(data)


async def test_a_busy_port_is_one_clear_line(gate: UdpGate) -> None:
    host, port = address_of(gate)
    with pytest.raises(UsageError, match=rf"^udp port {port} on 127.0.0.1 is already in use$"):
        await UdpGate.bind(Recorder(), host, port)


@pytest.mark.parametrize("host", ["192.0.2.7", "no such host", "\0"])
async def test_an_address_that_is_not_ours_is_one_clear_line(host: str) -> None:
    with pytest.raises(UsageError, match=r"^cannot listen on"):
        await UdpGate.bind(Recorder(), host, 0)


async def test_a_port_out_of_range_is_one_clear_line() -> None:
    with pytest.raises(UsageError, match=r"^70000 is not a port"):
        await UdpGate.bind(Recorder(), "127.0.0.1", 70_000)


async def test_a_wildcard_is_not_what_is_advertised(recorder: Recorder) -> None:
    gate = await UdpGate.bind(recorder, "0.0.0.0", 0)
    await gate.close()
    (path,) = gate.paths
    assert isinstance(path, NetPath)
    assert path.ip != "0.0.0.0"


async def test_closing_twice_and_sending_afterwards_is_harmless(
    gate: UdpGate, peer: socket.socket
) -> None:
    await gate.close()
    await gate.close()
    gate.send(path_of(peer), HELLO)
    gate.send_plain(path_of(peer), HELLO)
    assert gate.counters.dropped == 2
