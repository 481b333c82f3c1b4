"""UDP: one packet is one datagram; sent packets are cloaked, received ones may be."""

import contextlib
import socket
from typing import Self

from rookery.errors import DecodeError
from rookery.runtime.endpoint.gates.burst_socket import DATAGRAM_SIZE_MAX, BurstSocket
from rookery.runtime.endpoint.gates.gate import GateCounters, GateReceiver
from rookery.runtime.endpoint.gates.nonces import nonces
from rookery.runtime.net.address import SocketAddress, advertised_ip, bound_socket, datagram_address
from rookery.wire.link.cloak import cloak, reveal
from rookery.wire.link.path import NetPath, Path, net_path
from rookery.wire.octets import Octets

ADDRESSES_MAX = 4096  # cached paths of senders


class UdpGate:
    """One bound UDP socket; make it with `bind`."""

    def __init__(self, receiver: GateReceiver, sock: socket.socket) -> None:
        self.counters = GateCounters()
        self._receiver = receiver
        ip, port, *rest = sock.getsockname()
        self._scope: int = rest[1] if rest else 0
        self._bound = ip, port
        self.kinds = frozenset({net_path("udp", ip, port).kind})
        self._senders: dict[SocketAddress, NetPath] = {}
        self._targets: dict[Path, SocketAddress | None] = {}
        self._nonces = nonces()
        self._socket = BurstSocket(sock, self)

    @classmethod
    async def bind(cls, receiver: GateReceiver, host: str = "127.0.0.1", port: int = 0) -> Self:
        """Listen on this address; UsageError when that cannot be."""
        sock = await bound_socket(socket.SOCK_DGRAM, host, port)
        if sock.family == socket.AF_INET:
            _multicast_from(sock, sock.getsockname()[0])
        return cls(receiver, sock)

    @property
    def paths(self) -> tuple[Path, ...]:
        ip, port = self._bound
        return (net_path("udp", advertised_ip(ip), port),)

    def send(self, path: Path, data: Octets) -> None:
        """Send one packet, cloaked, before this turn of the loop ends."""
        target = self._target(path)
        datagram = cloak(bytes(data), next(self._nonces))
        if (
            target is None
            or len(datagram) > DATAGRAM_SIZE_MAX
            or not self._socket.send(datagram, target)
        ):
            self.counters.dropped += 1

    def send_plain(self, path: NetPath, data: bytes) -> None:
        """Send one packet as it is, also to a broadcast address: an announcement.

        Only here may a datagram be broadcast, so no path that a peer names makes us do it.
        """
        target = self._target(path)
        if target is None:
            self.counters.dropped += 1
        else:
            self._socket.broadcast(data, target)

    def flush(self) -> None:
        """Datagrams of one turn of the loop leave together, to whichever peers."""

    def hang_up(self, path: Path) -> None:
        """There are no connections here."""

    async def close(self) -> None:
        self._socket.close()

    # --- what the socket reports ---

    def datagrams_received(self, datagrams: list[bytes], address: SocketAddress) -> None:
        counters, received = self.counters, self._receiver.received
        path = self._senders.get(address) or self._sender(address)
        for datagram in datagrams:
            counters.bytes_in += len(datagram)
            try:
                packet = reveal(datagram)
            except DecodeError:
                counters.malformed += 1
            else:
                counters.packets_in += 1
                received(path, packet)

    def drained(self) -> None:
        self._receiver.drained()

    def datagrams_sent(self, count: int, size: int) -> None:
        self.counters.packets_out += count
        self.counters.bytes_out += size

    def datagram_lost(self) -> None:
        self.counters.dropped += 1

    def _sender(self, address: SocketAddress) -> NetPath:
        if len(self._senders) >= ADDRESSES_MAX:  # forged addresses can fill it
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


def _multicast_from(sock: socket.socket, ip: str) -> None:
    """Announcements leave by the interface we listen on, stay in its network, and are looped back.

    Linux tells from the address we are bound to; elsewhere the routing table would choose.
    """
    with contextlib.suppress(OSError):  # a system without multicast has no use for it either
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(ip))
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
