"""The limits: bare sockets in two processes, blocking, with nothing in between.

Datagrams are counted where they arrive, as the sender may well be faster than the receiver.
"""

import socket
import time
from multiprocessing.connection import Connection

from bench.process import answer, child

LOOPBACK = "127.0.0.1"

_BUFFER_SIZE = 4 << 20
_READ_SIZE = 1 << 16
_STOP = b""  # an empty datagram
_PATIENCE_S = 0.02


def datagrams_per_s(size: int, seconds: float) -> float:
    """How many datagrams of this size one receiving loop takes."""
    with child(_count, None) as pipe, datagram_socket() as sock:
        sock.connect((LOOPBACK, answer(pipe, int)))
        data, until = bytes(size), time.perf_counter() + seconds
        while time.perf_counter() < until:
            for _ in range(32):
                sock.send(data)
        while not pipe.poll(_PATIENCE_S):
            sock.send(_STOP)
        return answer(pipe, float)


def stream_bytes_per_s(seconds: float) -> float:
    """What one TCP connection carries in writes of 64 KB."""
    with child(_swallow, None) as pipe:
        data, size = bytes(_READ_SIZE), 0
        with socket.create_connection((LOOPBACK, answer(pipe, int))) as sock:
            began = time.perf_counter()
            while time.perf_counter() - began < seconds:
                sock.sendall(data)
                size += len(data)
            sock.shutdown(socket.SHUT_WR)
            sock.recv(1)
            return size / (time.perf_counter() - began)


def datagram_round_trips(size: int, count: int) -> list[float]:
    """Seconds of each of `count` round trips over UDP."""
    with child(_give_back_datagrams, None) as pipe, datagram_socket() as sock:
        sock.connect((LOOPBACK, answer(pipe, int)))
        times = [_round_trip(sock, bytes(size)) for _ in range(count)]
        sock.send(_STOP)
        return times


def stream_round_trips(size: int, count: int) -> list[float]:
    """Seconds of each of `count` round trips over TCP."""
    with (
        child(_give_back_stream, None) as pipe,
        socket.create_connection((LOOPBACK, answer(pipe, int))) as sock,
    ):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return [_round_trip(sock, bytes(size)) for _ in range(count)]


def _round_trip(sock: socket.socket, data: bytes) -> float:
    began = time.perf_counter()
    sock.send(data)
    sock.recv(_READ_SIZE)
    return time.perf_counter() - began


def datagram_socket() -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        sock.setsockopt(socket.SOL_SOCKET, option, _BUFFER_SIZE)
    sock.bind((LOOPBACK, 0))
    return sock


def _listening(pipe: Connection) -> socket.socket:
    """In a child: the first connection to a port that the parent is told."""
    with socket.create_server((LOOPBACK, 0)) as server:
        pipe.send(server.getsockname()[1])
        sock, _ = server.accept()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def _count(pipe: Connection, _: None) -> None:
    with datagram_socket() as sock:
        pipe.send(sock.getsockname()[1])
        count, receive, now = 0, sock.recv, time.perf_counter
        began = ended = 0.0
        while receive(_READ_SIZE):
            ended = now()
            began = began or ended
            count += 1
        pipe.send(count / max(ended - began, 1e-9))


def _swallow(pipe: Connection, _: None) -> None:
    buffer = bytearray(_READ_SIZE)
    with _listening(pipe) as sock:
        while sock.recv_into(buffer):
            pass
        sock.send(b"!")


def _give_back_datagrams(pipe: Connection, _: None) -> None:
    with datagram_socket() as sock:
        pipe.send(sock.getsockname()[1])
        while True:
            data, address = sock.recvfrom(_READ_SIZE)
            if data == _STOP:
                return
            sock.sendto(data, address)


def _give_back_stream(pipe: Connection, _: None) -> None:
    with _listening(pipe) as sock:
        while data := sock.recv(_READ_SIZE):
            sock.sendall(data)
