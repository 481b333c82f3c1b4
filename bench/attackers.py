"""How hostile packets reach the victim, by transport; each notices whatever comes back.

What TLS and HTTP demand is not an answer: the upgrade to a WebSocket and its control frames.
"""

import socket
from collections.abc import Callable
from random import Random
from typing import Protocol

from bench.mutation import flip
from rookery.wire.link.chunking import chunk
from rookery.wire.link.framing import PREFACE

_PATIENCE_S = 5.0
_DAMAGED_FRAMING = 0.1
_UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: victim\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_FINAL_BINARY, _MASKED, _NO_MASK = 0x82, 0x80, bytes(4)
_CONTROL_OPCODES = (0x88, 0x89, 0x8A)

Address = tuple[str, int]
Wrap = Callable[[bytes], bytes]


class Attacker(Protocol):
    """One transport of the attacked gate."""

    answers: int

    def attack(self, packets: list[bytes]) -> None:
        """Deliver a burst."""

    def close(self) -> None:
        """Be gone, after a last look for answers."""


class DatagramAttacker:
    """One unknown address; every packet is a datagram."""

    def __init__(self, target: Address, seed: int) -> None:
        self.answers = 0
        self._target = target
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.setblocking(False)

    def attack(self, packets: list[bytes]) -> None:
        for packet in packets:
            self._socket.sendto(packet, self._target)
        self._look()

    def close(self) -> None:
        self._look()
        self._socket.close()

    def _look(self) -> None:
        try:
            while self._socket.recv(1 << 16):
                self.answers += 1
        except BlockingIOError:
            pass


class StreamAttacker:
    """A few packets per connection, as most connections do not survive the first damaged one.

    The framing is damaged at times, too: lengths, masks, opcodes, the greeting.
    """

    def __init__(
        self, target: Address, seed: int, greeting: bytes, wrap: Wrap, *, is_web: bool
    ) -> None:
        self.answers = 0
        self._dice = Random(seed)
        self._target = target
        self._greeting = greeting
        self._wrap = wrap
        self._is_web = is_web

    def attack(self, packets: list[bytes]) -> None:
        for at in range(0, len(packets), 3):
            self._connect(packets[at : at + 3])

    def close(self) -> None:
        pass

    def _connect(self, packets: list[bytes]) -> None:
        data = self._greeting + b"".join(map(self._wrap, packets))
        if self._dice.random() < _DAMAGED_FRAMING:
            data = flip(self._dice, data)
        with socket.create_connection(self._target, _PATIENCE_S) as sock:
            try:
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
                self.answers += self._is_answer(_read_all(sock))
            except (ConnectionError, TimeoutError):
                return  # the victim has hung up, as it may

    def _is_answer(self, data: bytes) -> bool:
        if not self._is_web:
            return bool(data)
        frames = data.partition(b"\r\n\r\n")[2]
        return (
            data.startswith(b"HTTP/1.1 101") and bool(frames) and frames[0] not in _CONTROL_OPCODES
        )


def _read_all(sock: socket.socket) -> bytes:
    data = b""
    while part := sock.recv(1 << 16):
        data += part
    return data


def chunked(target: Address, seed: int) -> Attacker:
    return StreamAttacker(target, seed, b"", _chunk, is_web=False)


def framed(target: Address, seed: int) -> Attacker:
    return StreamAttacker(target, seed, PREFACE, _frame, is_web=False)


def websocket(target: Address, seed: int) -> Attacker:
    return StreamAttacker(target, seed, _UPGRADE, _message, is_web=True)


def _chunk(packet: bytes) -> bytes:
    return chunk(packet) if packet else b"\0"


def _frame(packet: bytes) -> bytes:
    return len(packet).to_bytes(4, "big") + packet


def _message(packet: bytes) -> bytes:
    """A binary message under a mask of zeros."""
    size = len(packet)
    if size < 126:
        head = bytes([_FINAL_BINARY, _MASKED | size])
    else:
        head = bytes([_FINAL_BINARY, _MASKED | 126]) + size.to_bytes(2, "big")
    return head + _NO_MASK + packet
