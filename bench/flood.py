"""A flood of handshakes: what it may cost the victim, and what it may not.

Opening a handshake of cipher set 2a is an RSA operation, so whoever sends many could keep a small
device busy. As many packets that need no cryptography show what receiving them costs anyway; the
difference is what the flood gains. It comes from many addresses, as floods do.
"""

import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from random import Random

from bench.attackers import Address
from bench.fuzz import Scene, handshake, scene
from bench.victim import Health
from rookery.identity.identity import Identity
from rookery.link.admission import AdmissionLimits

SECONDS = 10.0
RATE = 3000

_CSID = 0x2A
_ADDRESSES = 200
_TICK_S = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a flood led to."""

    rate: float  # packets a second that the victim received
    share: float  # of one core, while they came
    bare_share: float  # the same for packets that nobody opens
    opened: int  # handshakes that got as far as their cryptography
    growth: int  # bytes of memory
    answers: int
    failures: tuple[str, ...]
    friend: Health  # in the middle of the flood

    def __str__(self) -> str:
        parts = [
            f"{self.rate:,.0f} handshakes of `2a` a second",
            f"{self.share:.0%} of a core ({self.bare_share:.0%} for packets that nobody opens)",
            f"{self.opened} opened",
            f"{self.answers} answers",
            f"memory {self.growth / 1e6:+.1f} MB",
            f"{len(self.failures)} exceptions",
            f"friend's link {self.friend}",
        ]
        return ", ".join(parts)


class Flooder:
    """Sends from many addresses of the loopback network at an even pace."""

    def __init__(self, target: Address, rate: int) -> None:
        self._target = target
        self._per_tick = max(int(rate * _TICK_S), 1)
        self._sockets = [_socket(index) for index in range(_ADDRESSES)]
        self._turns = cycle(self._sockets)

    def pour(self, packets: Iterator[bytes], seconds: float) -> None:
        began, ticks = time.perf_counter(), int(seconds / _TICK_S)
        for tick in range(1, ticks + 1):
            self.tick(packets)
            time.sleep(max(began + tick * _TICK_S - time.perf_counter(), 0.0))

    def tick(self, packets: Iterator[bytes]) -> None:
        for _ in range(self._per_tick):
            next(self._turns).sendto(next(packets), self._target)

    def close(self) -> int:
        """How many answers there were."""
        answers = sum(map(_answers, self._sockets))
        for sock in self._sockets:
            sock.close()
        return answers


def flood(seconds: float, rate: int = RATE) -> Outcome:
    """Flood the victim with handshakes of a stranger, no two alike."""
    with scene(AdmissionLimits()) as stage:
        flooder, handshakes = Flooder(stage.target("udp4"), rate), _handshakes(stage)
        bare_share, _, _ = _poured(stage, flooder, _unknown_tokens(), seconds)
        memory = stage.condition().memory
        share, received, opened = _poured(stage, flooder, handshakes, seconds)

        def go_on() -> None:
            flooder.tick(handshakes)
            time.sleep(_TICK_S)

        friend, after = stage.health(go_on), stage.condition()
        return Outcome(
            rate=received / seconds,
            share=share,
            bare_share=bare_share,
            opened=opened,
            growth=after.memory - memory,
            answers=flooder.close(),
            failures=after.failures,
            friend=friend,
        )


def main() -> None:
    """A full flood."""
    print(flood(SECONDS), flush=True)


def _poured(
    stage: Scene, flooder: Flooder, packets: Iterator[bytes], seconds: float
) -> tuple[float, int, int]:
    """The share of a core that it took, packets received, and packets found wanting."""
    before, began = stage.condition(), time.perf_counter()
    flooder.pour(packets, seconds)
    after, elapsed = stage.condition(), time.perf_counter() - began
    return (
        (after.processor_s - before.processor_s) / elapsed,
        after.processed - before.processed,
        sum(after.dropped.values()) - sum(before.dropped.values()),
    )


def _handshakes(stage: Scene) -> Iterator[bytes]:
    """Damaged where only the private key can tell."""
    stranger, dice = Identity.generate([_CSID], os.urandom), Random(0)
    real = handshake(stranger, _CSID, stage.address.keys[_CSID])
    while True:
        yield real[:3] + dice.randbytes(32) + real[35:]


def _unknown_tokens() -> Iterator[bytes]:
    dice = Random(0)
    while True:
        yield bytes(2) + dice.randbytes(600)


def _socket(index: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((f"127.0.1.{1 + index}", 0))
    sock.setblocking(False)
    return sock


def _answers(sock: socket.socket) -> int:
    count = 0
    try:
        while sock.recv(1 << 16):
            count += 1
    except BlockingIOError:
        return count
    return count
