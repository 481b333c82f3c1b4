"""What renewing the keys of a session costs: the same bytes with renewal and without, turn about.

Two endpoints in one process, without sockets: a packet is sealed, opened and handed to a reader of
frames, so nothing else hides what it costs. Time is the processor's, which others do not use up.
"""

import os
import time

from bench.figure import Effort, Figure, Goal, middle
from rookery.identity.cs40 import RENEWS, CipherSet40
from rookery.identity.identity import Identity
from rookery.link.endpoint import Endpoint
from rookery.link.events import Discovered, Transmit
from rookery.link.link import Link, LinkState
from rookery.link.renewal import DUE_BYTES
from rookery.wire.lob import Packet
from rookery.wire.path import NetPath

_HEAD = b"\x01"
_SIZES = (60 << 10, 1200)
_BATCH = 64  # packets between two looks at what is due
_RATE = 500e6  # bytes a second of the time that the endpoints are told
_SMALL_PART = 8  # small packets cost more each, so a turn has fewer bytes of them


class Pair:
    """Two linked endpoints."""

    def __init__(self, flags: int) -> None:
        self.now, self.opened = 0.0, 0
        paths = [NetPath("udp4", f"192.0.2.{number}", 42424) for number in (1, 2)]
        self._ends = [(path, _endpoint(flags)) for path in paths]
        (_, alice), (path, bob) = self._ends
        bob.frame_reader = self._read
        self.link = alice.link(bob.hashname, bob.identity.keys, [path], self.now)
        back = None
        while back is None or not self.link.state is back.state is LinkState.UP:
            self._settle()
            back = bob.links.get(alice.hashname)

    @property
    def phase(self) -> int:
        """How often the keys were renewed."""
        exchange = self.link.exchange
        session = exchange.session if exchange is not None else None
        return session.renewal.phase if session is not None and session.renewal is not None else 0

    def carry(self, size: int, count: int) -> float:
        """Processor seconds for that many packets of this size."""
        body, batch = bytes(size), range(_BATCH)
        (path, _), (_, bob) = self._ends
        self.opened, began = 0, time.process_time()
        for _ in range(0, count, _BATCH):
            for _ in batch:
                sealed = self.link.sealed_parts(_HEAD, (body,))
                assert sealed is not None
                bob.received_sealed(path, sealed[2:], self.now)
            self.now += _BATCH * size / _RATE
            self._settle()
        spent_s = time.process_time() - began
        assert self.opened >= count
        return spent_s

    def _read(
        self, link: Link, path: object, head: bytes, body: bytes | memoryview, now: float
    ) -> None:
        self.opened += 1

    def _settle(self) -> None:
        """Both do what is due, and what they send arrives at once."""
        for path, end in self._ends:
            if (deadline := end.deadline) is not None and deadline <= self.now:
                end.tick(self.now)
            end.flush(self.now)
            for event in end.take():
                match event:
                    case Transmit(target, data):
                        other = next(each for there, each in self._ends if there == target)
                        other.received(path, Packet.parse(bytes(data)), self.now)
                    case Discovered(stranger):
                        end.accept(stranger, self.now)
                    case _:
                        pass


def _endpoint(flags: int) -> Endpoint:
    pairs = Identity.generate((0x40,), os.urandom).pairs
    identity = Identity(pairs, lambda csid: CipherSet40(flags))
    return Endpoint(identity, random=os.urandom, unix_s=time.time(), now=0.0)


def measure(effort: Effort) -> list[Figure]:
    return [figure(size, effort) for size in _SIZES]


def figure(size: int, effort: Effort) -> Figure:
    """One size of packets, with renewal and without."""
    whole = 2 * DUE_BYTES if not effort.is_quick else DUE_BYTES >> 8
    count = (whole if size == _SIZES[0] else whole // _SMALL_PART) // size
    renewing, keeping = Pair(RENEWS), Pair(0)
    with_renewal, without = [], []
    for _ in range(2 * effort.runs):  # a turn each
        with_renewal.append(count * size / renewing.carry(size, count))
        without.append(count * size / keeping.carry(size, count))
    return Figure(
        what=f"sealed and opened in packets of {size} B, keys renewed",
        value=middle(with_renewal) / 1e6,
        unit="MB/s",
        limit=middle(without) / 1e6,
        against="the same without renewal",
        goal=Goal(ratio_min=0.99),
        remark=f"{renewing.phase} renewals",
    )
