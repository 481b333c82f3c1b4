"""A simulated fleet: many senders in one process, with keys of their own, over a few UDP sockets.

To a hub they are devices and servers like any others. Their reports are spread evenly over the
interval. Towards a hub on this machine the sockets have addresses of their own (127.x.y.z), as
a hub limits how many senders may enrol from one address at once. The cores are real; the reports
are made up, and all senders share one RSA key, because RSA keys take long to generate.
"""

import asyncio
import heapq
import os
import random
import socket
import time
from collections import Counter
from contextlib import suppress
from ipaddress import ip_address
from typing import NamedTuple, Self

from rookery.fleet.entry import FleetKind, server_id
from rookery.fleet.reports.report_sender import HelloRefused, ReportSender, SenderEnrolled
from rookery.fleet.reports.sender_limits import SenderLimits
from rookery.fleet.reports.sender_state import SenderState
from rookery.identity.cipher_set import CipherSet, KeyPair, LocalKey, RandomBytes
from rookery.identity.cipher_sets import RSA_CSID, cipher_set
from rookery.identity.cs40 import CSID as CSID40
from rookery.identity.identity import Identity
from rookery.runtime.fleet.hub_address import HubAddress, HubSocketAddress
from rookery.wire.fleet.mac import MAC_SIZE
from rookery.wire.fleet.tags import ERROR
from rookery.wire.fleet.telemetry import DeviceReport, InterfaceCounters, LoadReport, Report


class SharedRsaKey:
    """Cipher set 2a with one pair for all senders: reports do not use it."""

    def __init__(self, real: CipherSet) -> None:
        self.pair = real.generate(os.urandom)
        self._key = real.load(self.pair)
        self._real = real

    @property
    def csid(self) -> int:
        return RSA_CSID

    def generate(self, random: RandomBytes) -> KeyPair:
        return self.pair

    def load(self, pair: KeyPair) -> LocalKey:
        return self._key

    def check_key(self, key: bytes) -> None:
        self._real.check_key(key)


def synthetic_report(kind: FleetKind, turn: int, key2a: bytes) -> Report:
    """The report of one turn."""
    wall_ms = time.time_ns() // 1_000_000
    if kind == "server":
        return LoadReport(
            t=wall_ms,
            seats_max=100,
            seats_used=100,  # full, so that no client is sent there
            cpu=0.1,
            mem=0.2,
            tcp="127.0.0.1:9",
            key2a=key2a,
        )
    counters = InterfaceCounters(1_000_000 + turn, 500_000 + turn, 9000, 8000, 0, 0)
    return DeviceReport(
        t=wall_ms,
        up=float(turn),
        load=0.1,
        mem=0.3,
        disk=0.4,
        temp=41.5,
        ifs={"eth0": counters, "wlan0": counters},
        agent="simulated",
        system="simulated",
    )


SOCKETS_MAX = 256
DEVICES_PER_SOCKET = 40  # no more than one address may enrol at once
SILENT_INTERVALS_MAX = (
    3  # intervals without an acknowledgement, after which one does not count as reporting
)

_LIMITS = SenderLimits(kept_max=64)
_BUFFER_SIZE = 4 << 20
_POLL_S = 0.1
_BURST = 256  # datagrams read at a time
_DATAGRAM_SIZE_MAX = 2048
_LOCAL = b"\x02"  # a locally administered MAC address
_NUMBER_SIZE = 3
_SENDER_AT = 4  # behind tag and length
_FAULT_SENDER_AT = 6  # and there behind a code


class SimulatedFleetStatus(NamedTuple):
    """Counts of a simulated fleet and its reports so far."""

    members: int
    enrolled: int
    reporting: int  # acknowledged lately
    made: int
    acknowledged: int
    resent: int
    lost: int  # dropped because the backlog was full
    waiting: int  # made, and neither acknowledged nor lost
    refused: int  # hellos that the hub refused


class _SimulatedSender:
    __slots__ = ("acknowledged", "acknowledged_at", "kind", "sender", "socket", "wake_at")

    def __init__(self, sender: ReportSender, kind: FleetKind, sock: socket.socket) -> None:
        self.sender = sender
        self.kind = kind
        self.socket = sock
        self.acknowledged = 0
        self.acknowledged_at = 0.0
        self.wake_at = 0.0  # of its entry in the heap that counts


class SimulatedFleet:
    """`start` makes one; it reports until closed."""

    def __init__(self, hub: HubAddress, place: HubSocketAddress, interval_s: float) -> None:
        self._hub = hub
        self._place = place
        self._interval_s = interval_s
        self._run = os.urandom(MAC_SIZE - len(_LOCAL) - _NUMBER_SIZE)  # the hub remembers others
        self._loop = asyncio.get_running_loop()
        self._members: dict[bytes, _SimulatedSender] = {}
        self._sockets: list[socket.socket] = []
        self._wakes: list[tuple[float, bytes]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._armed_at = 0.0  # uvloop's timers do not tell
        self._reporting: asyncio.Task[None] | None = None
        self.tally: Counter[str] = Counter()

    @classmethod
    async def start(
        cls, hub: HubAddress, devices: int, server_codes: list[str], interval_s: float
    ) -> Self:
        """Simulate so many devices, and a server for each code."""
        place = (await hub.udp())[0]
        fleet = cls(hub, place, interval_s)
        count = devices + len(server_codes)
        wanted = min(max(-(-count // DEVICES_PER_SOCKET), 1), SOCKETS_MAX)
        fleet._sockets = [_socket(place, number) for number in range(wanted)]
        shared = SharedRsaKey(cipher_set(RSA_CSID))
        for number in range(count):
            code = server_codes[number - devices] if number >= devices else None
            fleet._add(number, shared, code)
            if number % 100 == 0:
                await asyncio.sleep(0)  # many keys take a while; let signals be handled
        for sock in fleet._sockets:
            fleet._loop.add_reader(sock, fleet._drain, sock)
        fleet._reporting = fleet._loop.create_task(fleet._report())
        return fleet

    def status(self) -> SimulatedFleetStatus:
        """Count over all senders, which takes a moment for many."""
        if self._reporting is not None and self._reporting.done():
            with suppress(asyncio.CancelledError):
                self._reporting.result()  # which raises what ended it
        now = self._loop.time()
        since = now - SILENT_INTERVALS_MAX * self._interval_s
        enrolled = reporting = made = acknowledged = sent = lost = 0
        for member in self._members.values():
            counters = member.sender.counters
            enrolled += member.sender.is_enrolled
            reporting += member.acknowledged_at > since
            made += counters.made
            acknowledged += counters.acknowledged
            sent += counters.sent
            lost += counters.dropped
        return SimulatedFleetStatus(
            members=len(self._members),
            enrolled=enrolled,
            reporting=reporting,
            made=made,
            acknowledged=acknowledged,
            resent=max(sent - made, 0),
            lost=lost,
            waiting=made - acknowledged - lost,
            refused=self.tally["refused"],
        )

    async def settle(self, timeout_s: float) -> None:
        """Make no more reports; wait until all are acknowledged, or it takes too long."""
        await self._stop_reporting()
        for _ in range(round(timeout_s / _POLL_S)):
            if not self.status().waiting:
                return
            await asyncio.sleep(_POLL_S)

    async def close(self) -> None:
        await self._stop_reporting()
        if self._timer is not None:
            self._timer.cancel()
        for sock in self._sockets:
            self._loop.remove_reader(sock)
            sock.close()

    async def _stop_reporting(self) -> None:
        if self._reporting is not None:
            self._reporting.cancel()
            await asyncio.gather(self._reporting, return_exceptions=True)

    def _add(self, number: int, shared: SharedRsaKey, code: str | None) -> None:
        pairs = {CSID40: cipher_set(CSID40).generate(os.urandom), RSA_CSID: shared.pair}
        identity = Identity(pairs, lambda csid: shared if csid == RSA_CSID else cipher_set(csid))
        kind: FleetKind = "router" if code is None else "server"
        name = _LOCAL + self._run + number.to_bytes(_NUMBER_SIZE, "big")
        if kind == "server":
            name = server_id(identity.hashname)
        sender = ReportSender(
            identity,
            self._hub.keys,
            name,
            kind,
            SenderState(),
            time.time_ns() // 1_000_000,
            os.urandom,
            _LIMITS,
            code,
        )
        sock = self._sockets[number % len(self._sockets)]
        self._members[name] = _SimulatedSender(sender, kind, sock)

    async def _report(self) -> None:
        """One after the other, evenly over the interval."""
        order = list(self._members.items())
        random.shuffle(order)
        began, turn = self._loop.time(), 0
        while True:
            due = began + turn * self._interval_s / len(order)
            now = self._loop.time()
            if due > now:
                await asyncio.sleep(due - now)
                now = self._loop.time()
            name, member = order[turn % len(order)]
            member.sender.report(synthetic_report(member.kind, turn, self._hub.keys[RSA_CSID]), now)
            self._pump(name, member)
            turn += 1
            if turn % _BURST == 0:
                await asyncio.sleep(0)  # when late, answers still come first

    def _drain(self, sock: socket.socket) -> None:
        now = self._loop.time()
        for _ in range(_BURST):
            try:
                data = sock.recv(_DATAGRAM_SIZE_MAX)
            except (BlockingIOError, ConnectionError):
                return
            at = _FAULT_SENDER_AT if data[1:2] == bytes([ERROR]) and data[0] == 0 else _SENDER_AT
            name = data[at : at + MAC_SIZE]
            member = self._members.get(name)
            if member is None:
                self.tally["stranger"] += 1
                continue
            member.sender.received(data, now)
            acknowledged = member.sender.counters.acknowledged
            if acknowledged != member.acknowledged:
                member.acknowledged, member.acknowledged_at = acknowledged, now
            self._pump(name, member)

    def _pump(self, name: bytes, member: _SimulatedSender) -> None:
        for datagram in member.sender.take():
            try:
                member.socket.send(datagram)
            except OSError:  # no room, or no listener: as if the datagram was lost
                self.tally["unsent"] += 1
        for event in member.sender.events():
            self.tally["refused"] += isinstance(event, HelloRefused)
            self.tally["enrolments"] += isinstance(event, SenderEnrolled)
        deadline = member.sender.deadline
        if deadline is not None and deadline != member.wake_at:
            member.wake_at = deadline
            heapq.heappush(self._wakes, (deadline, name))
            self._rearm()

    def _wake(self) -> None:
        self._timer = None
        now = self._loop.time()
        while self._wakes and self._wakes[0][0] <= now:
            wake_at, name = heapq.heappop(self._wakes)
            member = self._members[name]
            if wake_at == member.wake_at:  # else a later one counts
                member.wake_at = 0.0
                member.sender.tick(now)
                self._pump(name, member)
        self._rearm()

    def _rearm(self) -> None:
        if not self._wakes:
            return
        first = self._wakes[0][0]
        if self._timer is not None:
            if self._armed_at <= first:
                return
            self._timer.cancel()
        self._armed_at = first
        self._timer = self._loop.call_at(first, self._wake)


def _socket(place: HubSocketAddress, number: int) -> socket.socket:
    """Connected to the hub; from an address of its own where that costs nothing."""
    family = socket.AF_INET6 if ":" in place.ip else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.setblocking(False)
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        sock.setsockopt(socket.SOL_SOCKET, option, _BUFFER_SIZE)
    if family == socket.AF_INET and ip_address(place.ip).is_loopback:
        high, low = divmod(number, 250)
        with suppress(OSError):  # a system that has 127.0.0.1 only
            sock.bind((f"127.77.{high}.{low + 1}", 0))
    sock.connect(place)
    return sock
