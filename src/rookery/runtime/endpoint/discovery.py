"""Discovery: sends and receives announcements on the local network.

Announcements go to a multicast group (and, off loopback, to broadcast) from the endpoint's own UDP
port, so whoever hears one knows where to answer. Listening is always on and answers nothing.
"""

import asyncio
import contextlib
import socket
import struct
from ipaddress import ip_address

from rookery.errors import DecodeError
from rookery.link.discovery.announcement import INTERVAL_S, MULTICAST_GROUP, PORT
from rookery.runtime.endpoint.gates.gate import GateReceiver
from rookery.runtime.endpoint.gates.udp_gate import UdpGate
from rookery.wire.link.lob import Packet
from rookery.wire.link.path import NetPath, net_path

_DATAGRAM_SIZE_MAX = 4096
_BATCH_MAX = 16
_ANY = "0.0.0.0"  # noqa: S104 - a group is joined on one interface; the address only filters
_BROADCAST = "255.255.255.255"


def announcement_targets(interface: str, port: int = PORT) -> list[NetPath]:
    """Where to send announcements from an interface's address."""
    targets = [net_path("udp", MULTICAST_GROUP, port)]
    if not ip_address(interface).is_loopback:
        targets.append(net_path("udp", _BROADCAST, port))
    return targets


class Discovery:
    """Listens on the interface of every UDP gate, and announces through all gates on request."""

    def __init__(self, receiver: GateReceiver) -> None:
        self._receiver = receiver
        self._gates: list[tuple[UdpGate, str]] = []  # and the interface each is on
        self._listeners: list[AnnouncementListener] = []
        self._announcing: asyncio.Task[None] | None = None

    @property
    def is_announcing(self) -> bool:
        return self._announcing is not None and not self._announcing.done()

    def add(self, gate: UdpGate) -> None:
        """Listen on this gate's interface; if the port is taken, only announcements are missed."""
        for path in gate.paths:
            if isinstance(path, NetPath) and path.kind == "udp4":
                self._gates.append((gate, path.ip))
                with contextlib.suppress(OSError):
                    self._listeners.append(AnnouncementListener(self._receiver, path.ip))

    def announce(self, packets: list[bytes], seconds: float) -> None:
        """Send announcements every few seconds for a while."""
        self.be_silent()
        loop = asyncio.get_running_loop()
        self._announcing = loop.create_task(self._announce(packets, seconds))

    def be_silent(self) -> None:
        if self._announcing is not None:
            self._announcing.cancel()

    async def close(self) -> None:
        self.be_silent()
        if self._announcing is not None:
            await asyncio.gather(self._announcing, return_exceptions=True)
        for listener in self._listeners:
            listener.close()

    async def _announce(self, packets: list[bytes], seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while True:
                    for gate, interface in self._gates:
                        for target in announcement_targets(interface):
                            for packet in packets:
                                gate.send_plain(target, packet)
                    await asyncio.sleep(INTERVAL_S)


class AnnouncementListener:
    """Receives announcements on one interface; several processes may share the port."""

    def __init__(self, receiver: GateReceiver, interface: str, port: int = PORT) -> None:
        """OSError when the port or the group cannot be had."""
        self._receiver = receiver
        self._loop = asyncio.get_running_loop()
        self._socket = _group_socket(interface, port)
        self._loop.add_reader(self._socket, self._readable)

    def close(self) -> None:
        self._loop.remove_reader(self._socket)
        self._socket.close()

    def _readable(self) -> None:
        for _ in range(_BATCH_MAX):
            try:
                data, address = self._socket.recvfrom(_DATAGRAM_SIZE_MAX)
            except OSError:
                break
            self._announced(data, address)
        self._receiver.drained()

    def _announced(self, data: bytes, address: tuple[str, int]) -> None:
        """Accept only announcements: the shared port serves no links."""
        try:
            packet = Packet.parse(data)
        except DecodeError:
            return
        if packet.is_json:
            self._receiver.received(net_path("udp", *address), packet)


def _group_socket(interface: str, port: int) -> socket.socket:
    is_wildcard = ip_address(interface).is_unspecified
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        for option in (socket.SO_REUSEADDR, getattr(socket, "SO_REUSEPORT", None)):
            if option is not None:
                sock.setsockopt(socket.SOL_SOCKET, option, 1)
        # On loopback the group address keeps everything else away from the socket.
        sock.bind((MULTICAST_GROUP if ip_address(interface).is_loopback else _ANY, port))
        membership = struct.pack(
            "4s4s",
            socket.inet_aton(MULTICAST_GROUP),
            socket.inet_aton(_ANY if is_wildcard else interface),
        )
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
    except OSError:
        sock.close()
        raise
    return sock
