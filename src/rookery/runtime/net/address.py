"""Addresses as the socket layer wants them: binding, sending to, and advertising."""

import asyncio
import errno
import socket
from ipaddress import IPv6Address, ip_address

from rookery.errors import UsageError

SocketAddress = tuple[str, int] | tuple[str, int, int, int]
BACKLOG = 256
LOOPBACK = "127.0.0.1:0"

_AddressInfo = tuple[
    socket.AddressFamily, socket.SocketKind, int, str, SocketAddress | tuple[int, bytes]
]

_WILDCARDS = {
    "0.0.0.0": ("192.0.2.1", "127.0.0.1"),  # noqa: S104  recognised here, never bound by default
    "::": ("2001:db8::1", "::1"),
}


def parse_address(text: str) -> tuple[str, int]:
    """`192.0.2.1:42424` or `[2001:db8::1]:42424`; UsageError for anything else."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdecimal():
        raise UsageError(f"{text!r} is not an address: use IP:PORT or [IP]:PORT")
    return host.removeprefix("[").removesuffix("]"), int(port)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it; a name may lead anywhere, except the well-known one."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def bound_socket(kind: socket.SocketKind, host: str, port: int) -> socket.socket:
    """A non-blocking socket on exactly this address, listening if it can, or UsageError."""
    family, _, _, _, address = await _resolve(kind, host, port)
    sock = socket.socket(family, kind)
    try:
        sock.setblocking(False)
        if family == socket.AF_INET6:  # each family has its own gate and kinds of path
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if kind == socket.SOCK_STREAM:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        if kind == socket.SOCK_STREAM:  # here, as a busy port may show up no sooner
            sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise UsageError(_why_not_bound(kind, host, port, error)) from error
    return sock


async def _resolve(kind: socket.SocketKind, host: str, port: int) -> _AddressInfo:
    if not 0 <= port < 0x10000:
        raise UsageError(f"{port} is not a port: use 0 to 65535")
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=kind, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError, ValueError) as error:
        raise UsageError(f"cannot listen on {host!r}: no such address") from error
    return found[0]


def _why_not_bound(kind: socket.SocketKind, host: str, port: int, error: OSError) -> str:
    carrier = "tcp" if kind == socket.SOCK_STREAM else "udp"
    match error.errno:
        case errno.EADDRINUSE:
            return f"{carrier} port {port} on {host} is already in use"
        case errno.EADDRNOTAVAIL:
            return f"cannot listen on {host}: this machine does not have that address"
        case errno.EACCES:
            return f"{carrier} port {port} on {host} needs more rights than this process has"
    return f"cannot listen on {carrier} port {port} on {host}: {error.strerror}"


def advertised_ip(ip: str) -> str:
    """What others should use for an address we are bound to: a wildcard is not reachable."""
    if ip not in _WILDCARDS:
        return ip
    elsewhere, loopback = _WILDCARDS[ip]
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((elsewhere, 9))  # asks the routing table only; no packet leaves
        except OSError:
            return loopback
        found: str = probe.getsockname()[0]
        return found


def has_address(address: SocketAddress) -> bool:
    """Whether this machine (still) has it; the port is not looked at."""
    ip, _, *rest = address
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((ip, 0, *rest))
        except OSError as error:
            return error.errno != errno.EADDRNOTAVAIL
    return True


def datagram_address(ip: str, port: int, scope: int = 0) -> SocketAddress | None:
    """Where to send; None unless `ip` is numeric, as a name would make `sendto` ask the DNS.

    `scope` is the zone of link-local addresses that name none.
    """
    try:
        address = ip_address(ip)
    except ValueError:
        return None
    if not 0 < port < 0x10000:
        return None
    if not isinstance(address, IPv6Address):
        return str(address), port
    zone = address.scope_id
    if zone is None:
        return str(address), port, 0, scope if address.is_link_local else 0
    index = _zone_index(zone)
    return None if index is None else (ip.partition("%")[0], port, 0, index)


def keep_alive(sock: socket.socket) -> None:
    """Let the system notice within some two minutes that a peer has vanished."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4)):
        option = getattr(socket, name, None)  # not every system has them
        if isinstance(option, int):
            sock.setsockopt(socket.IPPROTO_TCP, option, value)


def acknowledge_at_once(sock: socket.socket) -> None:
    """Have the system confirm what was just read without waiting for something to go with it.

    A peer that leaves Nagle's algorithm on holds its next packet back until then, some 40 ms. The
    system forgets the wish after a while, so it is repeated with every read.
    """
    option = getattr(socket, "TCP_QUICKACK", None)  # Linux alone has it
    if isinstance(option, int):
        sock.setsockopt(socket.IPPROTO_TCP, option, 1)


def _zone_index(zone: str) -> int | None:
    if zone.isascii() and zone.isdecimal() and len(zone) < 10:
        return int(zone)
    try:
        return socket.if_nametoindex(zone)
    except (OSError, ValueError):
        return None
