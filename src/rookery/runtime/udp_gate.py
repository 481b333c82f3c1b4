"""UDP: one packet is one datagram, always cloaked on the way out, either way on the way in.

The gate reads its socket itself. One wake-up takes a whole batch of datagrams, so a burst costs one
turn of the loop and answers leave together; asyncio's own transport takes one per turn and drops
bursts. What is sent leaves at the end of the turn, many datagrams per system call where the system
can do that (rookery.runtime.segmentation).
"""

import asyncio
import contextlib
import socket
from collections import deque
from typing import Self

from rookery.errors import DecodeError
from rookery.runtime.address import (
    SocketAddress,
    advertised_ip,
    bound_socket,
    datagram_address,
)
from rookery.runtime.gate import GateCounters, Receiver
from rookery.runtime.nonces import nonces
from rookery.runtime.segmentation import (
    ANCILLARY_SPACE,
    cut_every,
    enable,
    first_run,
    segment_size,
)
from rookery.wire.cloak import cloak, reveal
from rookery.wire.path import NetPath, Path, net_path

BATCH_MAX = 64
QUEUE_MAX = 256  # datagrams kept while the socket takes no more
ADDRESSES_MAX = 4096  # senders remembered, to save making the same path again

_BUFFER_SIZE = 4 << 20
_READ_SIZE = 0xFFFF
_DATAGRAM_SIZE_MAX = _READ_SIZE - 8 - 20


class UdpGate:
    """One bound UDP socket; make it with `bind`."""

    def __init__(self, receiver: Receiver, sock: socket.socket) -> None:
        self.counters = GateCounters()
        self._receiver = receiver
        self._socket = sock
        self._loop = asyncio.get_running_loop()
        ip, port, *rest = sock.getsockname()
        self._scope: int = rest[1] if rest else 0
        self._path = net_path("udp", advertised_ip(ip), port)
        self.kinds = frozenset({self._path.kind})
        self._senders: dict[SocketAddress, NetPath] = {}
        self._targets: dict[Path, SocketAddress | None] = {}
        self._queue: deque[tuple[bytes, SocketAddress]] = deque()
        self._flush_due = False
        self._is_blocked = False  # the socket takes no more for now
        self._sends_runs = enable(sock)
        self._buffer = bytearray(_READ_SIZE)
        self._nonces = nonces()
        self._closed = False
        self._loop.add_reader(sock, self._readable)

    @classmethod
    async def bind(cls, receiver: Receiver, host: str = "127.0.0.1", port: int = 0) -> Self:
        """Listen on this address; UsageError when that cannot be."""
        sock = await bound_socket(socket.SOCK_DGRAM, host, port)
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            with contextlib.suppress(OSError):  # a smaller buffer works too
                sock.setsockopt(socket.SOL_SOCKET, option, _BUFFER_SIZE)
        if sock.family == socket.AF_INET:
            _multicast_from(sock, sock.getsockname()[0])
        return cls(receiver, sock)

    @property
    def paths(self) -> tuple[Path, ...]:
        return (self._path,)

    def send(self, path: Path, data: bytes) -> None:
        """Send one packet, cloaked, before this turn of the loop ends."""
        target = self._target(path)
        queue = self._queue
        if target is None or self._closed or len(queue) >= QUEUE_MAX:
            self.counters.dropped += 1
            return
        datagram = cloak(data, next(self._nonces))
        if len(datagram) > _DATAGRAM_SIZE_MAX:
            self.counters.dropped += 1
            return
        queue.append((datagram, target))
        if self._is_blocked:
            return
        if len(queue) >= BATCH_MAX:
            self._flush()
        elif not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self._flush)

    def send_plain(self, path: NetPath, data: bytes) -> None:
        """Send one packet as it is, also to a broadcast address: an announcement.

        Only here may a datagram be broadcast, so no path that a peer names makes us do it.
        """
        target = self._target(path)
        if target is None or self._closed:
            self.counters.dropped += 1
            return
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        try:
            self._socket.sendto(data, target)
        except OSError:
            self.counters.dropped += 1
        else:
            self._count_sent([data])
        finally:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 0)

    async def close(self) -> None:
        if self._closed:
            return
        self._flush()
        self._closed = True
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._socket.close()

    def _readable(self) -> None:
        read, buffer = self._socket.recvmsg_into, [self._buffer]
        count = 0
        try:
            while count < BATCH_MAX:
                try:
                    size, ancillary, _, address = read(buffer, ANCILLARY_SPACE)
                except (BlockingIOError, InterruptedError):
                    break
                except OSError:  # an earlier datagram could not be delivered, says ICMP
                    count += 1
                    continue
                count += self._received(size, segment_size(ancillary, size), address)
        finally:
            self._receiver.drained()
            if not self._closed:
                self._flush()

    def _received(self, size: int, segment: int, address: SocketAddress) -> int:
        """Report the datagrams that lie in the buffer; how many there are."""
        path = self._senders.get(address) or self._sender(address)
        received, counters = self._receiver.received, self.counters
        starts = range(0, size, segment) if size else (0,)
        with memoryview(self._buffer) as view:
            for start in starts:
                try:
                    packet = reveal(bytes(view[start : min(start + segment, size)]))
                except DecodeError:
                    counters.malformed += 1
                    continue
                counters.packets_in += 1
                received(path, packet)
        counters.bytes_in += size
        return len(starts)

    def _sender(self, address: SocketAddress) -> NetPath:
        if len(self._senders) >= ADDRESSES_MAX:  # anybody can fill it with forged addresses
            self._senders.clear()
        path = net_path("udp", address[0], address[1])
        self._senders[address] = path
        return path

    def _target(self, path: Path) -> SocketAddress | None:
        try:
            return self._targets[path]
        except KeyError:
            pass
        if len(self._targets) >= ADDRESSES_MAX:
            self._targets.clear()
        target = None
        if isinstance(path, NetPath) and path.kind in self.kinds:
            target = datagram_address(path.ip, path.port, self._scope)
        self._targets[path] = target
        return target

    def _flush(self) -> None:
        """Hand what waits to the socket, as much of it as it takes."""
        self._flush_due = False
        try:
            while self._queue:
                if not self._send_run():
                    self._send_one()
        except (BlockingIOError, InterruptedError):
            if not self._is_blocked:
                self._is_blocked = True
                self._loop.add_writer(self._socket, self._flush)
            return
        if self._is_blocked:
            self._is_blocked = False
            self._loop.remove_writer(self._socket)

    def _send_run(self) -> bool:
        """Send several at once, if the system can; BlockingIOError if it could, but not now."""
        if not self._sends_runs or len(self._queue) == 1:
            return False
        run = first_run(self._queue)
        if len(run) == 1:
            return False
        try:
            self._socket.sendmsg(run, cut_every(len(run[0])), 0, self._queue[0][1])
        except (BlockingIOError, InterruptedError):
            raise
        except OSError:  # the device cannot, or its packets are smaller
            return False
        for _ in run:
            self._queue.popleft()
        self._count_sent(run)
        return True

    def _send_one(self) -> None:
        datagram, target = self._queue[0]
        try:
            self._socket.sendto(datagram, target)
        except (BlockingIOError, InterruptedError):
            raise
        except OSError:  # too large, unreachable, not allowed: all the same to the sender
            self.counters.dropped += 1
        else:
            self._count_sent([datagram])
        self._queue.popleft()

    def _count_sent(self, datagrams: list[bytes]) -> None:
        self.counters.packets_out += len(datagrams)
        self.counters.bytes_out += sum(map(len, datagrams))


def _multicast_from(sock: socket.socket, ip: str) -> None:
    """Announcements leave by the interface we listen on, stay in its network, and are heard here.

    Linux tells from the address we are bound to; elsewhere the routing table would choose.
    """
    with contextlib.suppress(OSError):  # a system without multicast has no use for it either
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(ip))
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
