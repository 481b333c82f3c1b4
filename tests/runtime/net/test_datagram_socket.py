"""A UDP socket's queue is bounded in number and in bytes."""

from rookery.runtime.net.datagram_socket import QUEUE_MAX, QUEUE_SIZE_MAX, QueuedDatagramSocket

PEER = ("192.0.2.1", 9)


async def test_more_datagrams_than_anybody_takes_are_dropped() -> None:
    socket = QueuedDatagramSocket()
    for number in range(QUEUE_MAX + 5):
        socket.datagram_received(b"%d" % number, PEER)
    assert socket.dropped == 5
    assert (await socket.receive()).data == b"0"


async def test_large_datagrams_fill_the_queue_sooner() -> None:
    socket, size = QueuedDatagramSocket(), 60_000
    for _ in range(10):
        socket.datagram_received(bytes(size), PEER)
    held = QUEUE_SIZE_MAX // size
    assert socket.dropped == 10 - held
    for _ in range(held):
        assert len((await socket.receive()).data) == size
    socket.datagram_received(b"room again", PEER)
    assert (await socket.receive()).data == b"room again"
