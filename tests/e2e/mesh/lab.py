"""A laboratory of real hosts: network namespaces joined by a user-space relay of IP packets.

    host 1 ── tun ──┐                  ┌── tun ── host 2
                    ├── Relay (here) ──┤
    host 3 ── tun ──┘                  └── tun ── host 4

Kernels, sockets and processes are real; what a wide area does to packets (delay, loss, a narrow or
blocked direction) is done by the relay, because not every kernel has netem. Needs root and
/dev/net/tun.
"""

import contextlib
import fcntl
import heapq
import os
import random
import selectors
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

TUN = Path("/dev/net/tun")
IP = "/usr/sbin/ip"

_SET_INTERFACE = 0x400454CA
_TUN_NO_INFO = 0x0001 | 0x1000
_PACKET_SIZE_MAX = 65536
_IDLE_S = 0.2
_MTU = 1400
_BATCH = 64  # packets of one host, before others have their turn
_PROTOCOL_AT = 9
_UDP = 17


def is_possible() -> bool:
    """Whether this machine lets us make namespaces and tunnels."""
    return os.geteuid() == 0 and TUN.exists() and Path(IP).exists()


@dataclass(frozen=True, slots=True)
class Weather:
    """What one direction between two hosts does to packets."""

    delay_s: float = 0.0
    loss: float = 0.0
    blocked: bool = False
    udp_blocked: bool = False
    rate: float | None = None  # bytes per second; None: as fast as the relay itself
    queue_s: float = 0.1  # what would wait longer before a narrow direction is dropped


class Host:
    """One namespace with one address."""

    def __init__(self, lab: "Lab", number: int, mtu: int) -> None:
        self.namespace = f"rook{os.getpid() % 100_000}-{number}"
        self.ip = f"10.77.0.{number}"
        self._lab = lab
        self._interface = f"rk{os.getpid() % 100_000}n{number}"
        self.tunnel = os.open(TUN, os.O_RDWR | os.O_NONBLOCK)
        name = self._interface.encode()
        fcntl.ioctl(self.tunnel, _SET_INTERFACE, struct.pack("16sH", name, _TUN_NO_INFO))
        run(IP, "netns", "add", self.namespace)
        run(IP, "link", "set", self._interface, "netns", self.namespace)
        self._ip("link", "set", "lo", "up")
        self._ip("link", "set", self._interface, "mtu", str(mtu), "up")
        self._take(self.ip)

    def command(self, *words: str) -> list[str]:
        """The words that run a command in this host."""
        return [IP, "netns", "exec", self.namespace, *words]

    def move(self, ip: str) -> None:
        """Take another address, as a laptop does that changes networks."""
        self._ip("addr", "del", f"{self.ip}/24", "dev", self._interface)
        self._lab.renamed(self, ip)
        self._take(ip)
        self.ip = ip

    def close(self) -> None:
        os.close(self.tunnel)
        run(IP, "netns", "del", self.namespace)

    def _take(self, ip: str) -> None:
        self._ip("addr", "add", f"{ip}/24", "dev", self._interface)
        self._ip("route", "replace", "default", "dev", self._interface)

    def _ip(self, *words: str) -> None:
        run(IP, "-n", self.namespace, *words)


class Lab:
    """Hosts and the relay between them.

    It copes with some ten thousand packets a second: who has much to carry chooses a large `mtu`.
    """

    def __init__(self, count: int, *, seed: int = 0, mtu: int = _MTU) -> None:
        self._random = random.Random(seed)
        self._weather: dict[tuple[int, int], Weather] = {}  # by tunnel: hosts may move
        self._default = Weather()
        self._free_at: dict[tuple[int, int], float] = {}  # when a narrow direction is
        self._selector = selectors.DefaultSelector()
        self._pending: list[tuple[float, int, int, bytes]] = []
        self._count = 0
        self._tunnels: dict[bytes, int] = {}
        self._is_running = True
        self.hosts: list[Host] = []
        with contextlib.ExitStack() as stack:
            for number in range(1, count + 1):
                host = Host(self, number, mtu)
                stack.callback(host.close)
                self.hosts.append(host)
                self.renamed(host, host.ip)
                self._selector.register(host.tunnel, selectors.EVENT_READ)
            self._stack = stack.pop_all()
        self._thread = threading.Thread(target=self._relay, name="relay", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_running = False
        self._thread.join()
        self._selector.close()
        self._stack.close()

    def between(self, one: Host, other: Host, weather: Weather) -> None:
        """The same weather both ways."""
        self.from_to(one, other, weather)
        self.from_to(other, one, weather)

    def from_to(self, source: Host, target: Host, weather: Weather) -> None:
        self._weather[source.tunnel, target.tunnel] = weather

    def everywhere(self, weather: Weather) -> None:
        self._weather, self._default = {}, weather

    def renamed(self, host: Host, ip: str) -> None:
        self._tunnels = {ip: fd for ip, fd in self._tunnels.items() if fd != host.tunnel}
        self._tunnels[_packed(ip)] = host.tunnel

    def _relay(self) -> None:
        while self._is_running:
            timeout = _IDLE_S
            if self._pending:
                timeout = max(0.0, min(timeout, self._pending[0][0] - time.monotonic()))
            for key, _ in self._selector.select(timeout):
                for packet in _packets(key.fd):
                    self._carry(key.fd, packet)
            self._deliver_due()

    def _carry(self, source: int, packet: bytes) -> None:
        if packet[0] >> 4 != 4:
            return
        target = self._tunnels.get(packet[16:20])
        if target is None:
            return
        weather = self._weather.get((source, target), self._default)
        if weather.blocked or (weather.loss and self._random.random() < weather.loss):
            return
        if weather.udp_blocked and packet[_PROTOCOL_AT] == _UDP:
            return
        if weather.rate is None and not weather.delay_s:
            _write(target, packet)
            return
        due = now = time.monotonic()
        if weather.rate is not None:
            due = max(now, self._free_at.get((source, target), 0.0))
            if due - now > weather.queue_s:
                return
            due += len(packet) / weather.rate
            self._free_at[source, target] = due
        self._count += 1
        heapq.heappush(self._pending, (due + weather.delay_s, self._count, target, packet))

    def _deliver_due(self) -> None:
        while self._pending and self._pending[0][0] <= time.monotonic():
            _, _, target, packet = heapq.heappop(self._pending)
            _write(target, packet)


def run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


def _packets(tunnel: int) -> Iterator[bytes]:
    for _ in range(_BATCH):
        try:
            yield os.read(tunnel, _PACKET_SIZE_MAX)
        except OSError:
            return


def _write(tunnel: int, packet: bytes) -> None:
    with contextlib.suppress(OSError):  # a host's queue is full, or it is just closing
        os.write(tunnel, packet)


def _packed(ip: str) -> bytes:
    return bytes(map(int, ip.split(".")))
