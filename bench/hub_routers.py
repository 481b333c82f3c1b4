"""Routers for the benches of a hub: entries as if they had enrolled, and their datagrams.

Their keys are random bytes: nobody seals anything for them as long as no secret is renewed.
"""

import os
import select
import socket
import time
from collections.abc import Iterable, Sequence

from rookery.fleet.enrolment import secrets
from rookery.fleet.entry import FleetEntry
from rookery.hub.settings import RENEWAL_S
from rookery.wire import base32
from rookery.wire.fleet import tags, telemetry
from rookery.wire.fleet.datagrams import report_proved, serialize_report
from rookery.wire.fleet.telemetry import DeviceReport, InterfaceCounters

BOOT = 1
SOCKETS = 400  # so that no two datagrams in a row come from the same address

_CONTENT = telemetry.encode(
    DeviceReport(
        t=1_700_000_000_000,
        b=BOOT,
        n=1,
        up=86_400.0,
        load=0.5,
        mem=0.4,
        disk=0.3,
        temp=51.0,
        ifs={f"eth{n}": InterfaceCounters(10**9, 10**8, 10**6, 10**6) for n in range(3)},
        agent="0.1.0",
    )
)


def mac(number: int) -> bytes:
    return b"\x02\xfc" + number.to_bytes(4, "big")


def _raw_hashname(number: int) -> bytes:
    return number.to_bytes(32, "big")


def _generation(sender: bytes) -> int:
    return secrets.generation(sender, time.time(), RENEWAL_S)


def entries(numbers: Iterable[int]) -> list[FleetEntry]:
    """As if they had reported once, just now."""
    now = time.time()
    return [
        FleetEntry(
            sender=mac(number),
            kind="router",
            hashname=base32.encode(_raw_hashname(number)),
            key=os.urandom(64),
            digest=os.urandom(32),
            generation=_generation(mac(number)),
            boot=BOOT,
            sequence=0,
            window=0,
            first_seen=now,
            last_seen=now,
        )
        for number in numbers
    ]


class Senders:
    """Makes the datagrams of so many devices."""

    def __init__(self, count: int, master: bytes) -> None:
        self._devices = []
        for number in range(count):
            sender = mac(number)
            generation = _generation(sender)
            secret = secrets.derive(master, sender, _raw_hashname(number), generation)
            self._devices.append((sender, generation, secret))

    def datagram(self, number: int, sequence: int) -> bytes:
        sender, generation, secret = self._devices[number]
        proved = report_proved(tags.TELEMETRY, sender, generation, BOOT, sequence, _CONTENT)
        return serialize_report(proved, secrets.prove(secret, proved))

    def round(self, sequence: int) -> list[bytes]:
        """One of each."""
        return [self.datagram(number, sequence) for number in range(len(self._devices))]


class Sockets:
    """Sends to one port from many, and counts what comes back."""

    def __init__(self, port: int) -> None:
        self._sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(SOCKETS)]
        self._poll = select.epoll()
        self._by_descriptor = {sock.fileno(): sock for sock in self._sockets}
        self._next = 0
        for sock in self._sockets:
            sock.connect(("127.0.0.1", port))
            sock.setblocking(False)
            self._poll.register(sock, select.EPOLLIN)

    def close(self) -> None:
        self._poll.close()
        for sock in self._sockets:
            sock.close()

    def send(self, datagrams: Sequence[bytes]) -> None:
        sockets, number = self._sockets, self._next
        for datagram in datagrams:
            sockets[number % SOCKETS].send(datagram)
            number += 1
        self._next = number

    def answers(self) -> int:
        """Since it was asked last."""
        count = 0
        for descriptor, _ in self._poll.poll(0, SOCKETS):
            sock = self._by_descriptor[descriptor]
            try:
                while True:
                    sock.recv(512)
                    count += 1
            except (BlockingIOError, ConnectionRefusedError):
                continue
        return count
