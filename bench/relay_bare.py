"""The limits of forwarding: three processes, of which the middle one copies and does nothing else.

    sender ──▶ relay ──▶ receiver      bare blocking sockets

What arrives is counted at the receiver. A datagram relay passes on one datagram at a time, a
stream relay whatever one read brings.
"""

import socket
import time
from multiprocessing.connection import Connection

from bench.process import answer, child
from bench.raw import LOOPBACK, datagram_socket

_READ_SIZE = 1 << 16
_STOP = b""
_PATIENCE_S = 0.02
_BURST = 32


def datagrams_per_s(size: int, seconds: float) -> float:
    """Datagrams of this size a second, through the relay."""
    with (
        child(_count_datagrams, None) as counting,
        child(_relay_datagrams, answer(counting, int)) as relaying,
        datagram_socket() as sock,
    ):
        sock.connect((LOOPBACK, answer(relaying, int)))
        data, until = bytes(size), time.perf_counter() + seconds
        while time.perf_counter() < until:
            for _ in range(_BURST):
                sock.send(data)
        while not counting.poll(_PATIENCE_S):
            sock.send(_STOP)
        return answer(counting, float)


def packets_per_s(size: int, seconds: float) -> float:
    """Writes of this size a second over TCP, through the relay."""
    with (
        child(_count_bytes, None) as counting,
        child(_relay_stream, answer(counting, int)) as relaying,
    ):
        with socket.create_connection((LOOPBACK, answer(relaying, int))) as sock:
            data, until = bytes(size), time.perf_counter() + seconds
            while time.perf_counter() < until:
                for _ in range(_BURST):
                    sock.sendall(data)
        return answer(counting, float) / size


def _relay_datagrams(pipe: Connection, port: int) -> None:
    with datagram_socket() as sock, datagram_socket() as onward:
        onward.connect((LOOPBACK, port))
        pipe.send(sock.getsockname()[1])
        receive, send = sock.recv, onward.send
        while data := receive(_READ_SIZE):
            send(data)
        while not pipe.poll(_PATIENCE_S):
            send(_STOP)


def _count_datagrams(pipe: Connection, _: None) -> None:
    with datagram_socket() as sock:
        pipe.send(sock.getsockname()[1])
        count, receive, now = 0, sock.recv, time.perf_counter
        began = ended = 0.0
        while receive(_READ_SIZE):
            ended = now()
            began = began or ended
            count += 1
        pipe.send(count / max(ended - began, 1e-9))


def _accepted(pipe: Connection) -> socket.socket:
    """In a child: the first connection to a port that the parent is told."""
    with socket.create_server((LOOPBACK, 0)) as server:
        pipe.send(server.getsockname()[1])
        return server.accept()[0]


def _relay_stream(pipe: Connection, port: int) -> None:
    with socket.create_connection((LOOPBACK, port)) as onward, _accepted(pipe) as sock:
        while data := sock.recv(_READ_SIZE):
            onward.sendall(data)


def _count_bytes(pipe: Connection, _: None) -> None:
    with _accepted(pipe) as sock:
        size, now, began = 0, time.perf_counter, 0.0
        while data := sock.recv(_READ_SIZE):
            began = began or now()
            size += len(data)
        pipe.send(size / max(now() - began, 1e-9))
