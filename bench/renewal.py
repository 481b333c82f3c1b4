"""What renewing the keys of a session costs: the same bytes with renewal and without, turn about.

Two endpoints in one process, without sockets: a packet is sealed, opened and handed to a reader of
frames, so nothing else hides what it costs. Time is the processor's, and the best turn counts: what
others do at the same time costs caches.
"""

import os
import time

from bench.figure import Effort, Figure, Goal
from rookery.identity.cs40 import RENEWS, CipherSet40
from rookery.identity.identity import Identity
from rookery.link.endpoint import Endpoint
from rookery.link.events import Discovered, Transmit
from rookery.link.link import Link, LinkState
from rookery.link.session.renewal import BUSY_BYTES, DUE_BYTES
from rookery.wire.link.lob import Packet
from rookery.wire.link.path import NetPath

_HEAD = b"\x01"
_SIZES = (60 << 10, 1200)
_BATCH = 64  # packets between two looks at what is due
_RATE = 500e6  # bytes a second of the time that the endpoints are told
_TURNS = 4  # of each, for each run
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
        self, link: Link, path: object, head: bytes, body: bytes | memoryview, *_: object
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
    whole = DUE_BYTES >> 8 if effort.is_quick else DUE_BYTES + BUSY_BYTES  # a renewal in each turn
    count = (whole if size == _SIZES[0] else whole // _SMALL_PART) // size
    pairs = {RENEWS: Pair(RENEWS), 0: Pair(0)}
    best = dict.fromkeys(pairs, 0.0)
    for turn in range(_TURNS * effort.runs):
        for flags in sorted(pairs, reverse=turn % 2 == 0):
            rate = count * size / pairs[flags].carry(size, count)
            best[flags] = max(best[flags], rate)
    return Figure(
        what=f"sealed and opened in packets of {size} B, keys renewed",
        value=best[RENEWS] / 1e6,
        unit="MB/s",
        limit=best[0] / 1e6,
        against="the same without renewal",
        goal=Goal(ratio_min=0.99),
        remark=f"best of {_TURNS * effort.runs} turns, {pairs[RENEWS].phase} renewals",
    )
