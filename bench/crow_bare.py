"""The limits of crow: the same exchanges as bare socket loops in two processes, nothing else.

    QoS 0   packet ─▶                      QoS 1   packet ─▶ ◀─ ack
    QoS 2   packet ─▶ ◀─ ack ─▶ ack of the ack

Datagrams have the sizes of crow's. Nothing is parsed, remembered, repeated or timed: a number in
the first bytes tells the packets of a window from each other, as the sequence number does.
"""

import socket
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection

from bench.process import answer, child
from bench.raw import LOOPBACK, datagram_socket, datagrams_per_s

HEADER_SIZE = 8 + 7  # a header, and the address of one hop over UDP

_READ_SIZE = 1 << 16
_STOP = b""
_PATIENCE_S = 0.02


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast packets were exchanged, and what each took of the processors."""

    rate: float
    sender_us: float = 0.0
    receiver_us: float = 0.0

    def __str__(self) -> str:
        return f"{self.sender_us:.1f} + {self.receiver_us:.1f}"


def bare_pace(qos: int, window: int, size: int, seconds: float) -> Pace:
    """How many packets with `size` bytes of data a bare loop gets through, acknowledged."""
    if qos == 0:
        return Pace(datagrams_per_s(HEADER_SIZE + size, seconds))
    with child(_acknowledge, None) as pipe, datagram_socket() as sock:
        sock.connect((LOOPBACK, answer(pipe, int)))
        worked_s = time.process_time()
        done, rate = _pour(sock, qos, window, HEADER_SIZE + size, seconds)
        worked_s = time.process_time() - worked_s
        while not pipe.poll(_PATIENCE_S):
            sock.send(_STOP)
        return Pace(rate, worked_s / done * 1e6, answer(pipe, float) / done * 1e6)


def _pour(
    sock: socket.socket, qos: int, window: int, size: int, seconds: float
) -> tuple[int, float]:
    """How many packets got through, and how many a second."""
    send, receive, now = sock.send, sock.recv, time.perf_counter
    packets = [number.to_bytes(2, "little") + bytes(size - 2) for number in range(window)]
    done, began = 0, now()
    for packet in packets:
        send(packet)
    until = began + seconds
    while now() < until:
        ack = receive(_READ_SIZE)
        if qos == 2:
            send(ack)
        done += 1
        send(packets[ack[0]])
    return done, done / (now() - began)


def _acknowledge(pipe: Connection, _: None) -> None:
    with datagram_socket() as sock:
        pipe.send(sock.getsockname()[1])
        receive, send, began_s = sock.recvfrom, sock.sendto, time.process_time()
        while True:
            data, address = receive(_READ_SIZE)
            if len(data) > HEADER_SIZE:
                send(data[:HEADER_SIZE], address)
            elif data == _STOP:
                pipe.send(time.process_time() - began_s)
                return
