"""When a burst socket reads, and when what is sent leaves."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from rookery.runtime.endpoint.gates.burst_socket import QUEUE_MAX, BurstSocket
from rookery.runtime.net.address import SocketAddress
from tests.patience import PATIENCE_S


class User:
    """Remembers what happens, and answers as it is told."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.answer: Callable[[SocketAddress], None] = lambda _: None
        self.sent = self.lost = 0
        self._happened = asyncio.Event()

    def datagrams_received(self, datagrams: list[bytes], address: SocketAddress) -> None:
        self.log += [each.decode() for each in datagrams]
        self.answer(address)

    def drained(self) -> None:
        self.log.append("drained")
        self._happened.set()

    def datagrams_sent(self, count: int, size: int) -> None:
        self.sent += count

    def datagram_lost(self) -> None:
        self.lost += 1

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self._happened.clear()
                await self._happened.wait()


@pytest.fixture
def peer() -> Iterator[socket.socket]:
    with _bound() as sock:
        yield sock


@pytest.fixture
async def user() -> User:
    return User()


@pytest.fixture
async def burst(user: User) -> AsyncIterator[BurstSocket]:
    burst = BurstSocket(_bound(), user)
    yield burst
    burst.close()


def _bound() -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    sock.setblocking(False)
    return sock


def _address(burst: BurstSocket) -> SocketAddress:
    ip, port = burst._socket.getsockname()
    return ip, port


async def test_an_answer_can_leave_before_reading_is_over(
    burst: BurstSocket, user: User, peer: socket.socket
) -> None:
    """Over loopback a datagram that was sent is there: nobody has to wait for it."""
    answers: list[bytes] = []

    def answer(address: SocketAddress) -> None:
        assert burst.is_reading
        assert burst.send_now([b"answer"], address) == 1
        answers.append(peer.recv(16))

    user.answer = answer
    peer.sendto(b"question", _address(burst))
    await user.until(lambda: "drained" in user.log)
    assert answers == [b"answer"]
    assert not burst.is_reading


async def test_what_comes_alone_is_answered_before_anybody_looks_for_more(
    burst: BurstSocket, user: User, peer: socket.socket
) -> None:
    for text in (b"1", b"2", b"3"):
        _sent_alone(text, _address(burst))
    await user.until(lambda: "3" in user.log)
    assert user.log == ["1", "drained", "2", "drained", "3", "drained"]


async def test_a_crowd_is_noticed_and_then_answered_together(
    burst: BurstSocket, user: User
) -> None:
    for number in range(100):
        _sent_alone(b"%d" % number, _address(burst))
    await user.until(lambda: "99" in user.log)
    assert [text for text in user.log if text != "drained"] == [str(each) for each in range(100)]
    assert user.log.count("drained") <= 12


def _sent_alone(data: bytes, address: SocketAddress) -> None:
    """From a socket of its own, or the system would hand several over in one read."""
    with _bound() as sock:
        sock.sendto(data, address)


async def test_what_the_socket_does_not_take_at_once_waits_and_leaves_in_order() -> None:
    """A pair of local sockets: unlike UDP on loopback, the sender is held back."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with theirs:
        theirs.setblocking(False)
        user = User()
        burst = BurstSocket(_Addressless(ours), user)
        datagrams = [b"%04d" % number for number in range(8 * QUEUE_MAX)]
        taken = burst.send_now(datagrams, ("127.0.0.1", 1))
        assert 0 < user.sent < taken < len(datagrams)
        assert burst.send_now([b"too many"], ("127.0.0.1", 1)) == 0
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(PATIENCE_S):
            got = [await loop.sock_recv(theirs, 16) for _ in range(taken)]
        assert got == datagrams[:taken]
        burst.close()


class _Addressless(socket.socket):
    """A connected local socket that answers to a UDP socket's calls."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock.family, sock.type, fileno=sock.detach())
        self.setblocking(False)

    def setsockopt(self, *_: object) -> None:
        """Its buffer stays as small as it is."""
        raise OSError("not a UDP socket")

    def sendto(self, data: bytes, address: tuple[str, int]) -> int:  # type: ignore[override]
        return self.send(data)
