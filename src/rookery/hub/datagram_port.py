"""Datagrams in batches: one system call for many, where Linux offers it.

Reports come from as many addresses as there are routers, so segmentation offload has nothing to
join. `recvmmsg` and `sendmmsg` do: the batch is one call, and a sender's address stays the bytes
that the kernel wrote until somebody wants to read it.

    mmsghdr   | name | name size | iovec | iovecs | control | size | flags | received |    64 bytes
              |  8   |  4 (+ 4)  |   8   |   8    |    8    |  8   | 4 (+4)|  4 (+ 4) |
"""

import contextlib
import ctypes
import errno
import socket
import struct
import sys
from collections.abc import Sequence
from typing import Protocol

BATCH_MAX = 64
DATAGRAM_SIZE_MAX = 2048  # longer ones are cut, and no report then
BUFFER_SIZE = 8 << 20

Address = bytes  # a socket address as the system keeps it
Datagram = tuple[bytes, Address]

_HEADER = struct.Struct("=QI4xQQQQi4xI4x")
_RECEIVED = struct.Struct("=56xI4x")
_IOVEC = struct.Struct("=QQ")
_NAME_SIZE_AT, _IOVEC_SIZE_AT = 8, 8
_FAMILY = struct.Struct("=H")
_IPV4 = struct.Struct("=H2s4s8x")
_IPV6 = struct.Struct("=H2sI16sI")
_NAME_SIZE = _IPV6.size
_SNDBUFFORCE, _RCVBUFFORCE, _MEMINFO = 32, 33, 55  # Linux's
_DROPS = struct.Struct("=32xI")
_BLOCKED = frozenset({errno.EAGAIN, errno.EINTR, errno.ENOBUFS})


class DatagramPort(Protocol):
    """A bound, non-blocking UDP socket; whoever made the socket closes it."""

    def receive(self) -> list[Datagram]:
        """Up to BATCH_MAX that are there; none when nothing is."""
        ...

    def send(self, datagrams: Sequence[Datagram]) -> int:
        """How many of these the system took; the rest are as good as lost."""
        ...


def datagram_port(sock: socket.socket) -> DatagramPort:
    """The fastest way this system has."""
    for option, forced in ((socket.SO_RCVBUF, _RCVBUFFORCE), (socket.SO_SNDBUF, _SNDBUFFORCE)):
        sock.setsockopt(socket.SOL_SOCKET, option, BUFFER_SIZE)
        with contextlib.suppress(OSError):  # beyond the system's bound, for those who may
            sock.setsockopt(socket.SOL_SOCKET, forced, BUFFER_SIZE)
    if sys.platform == "linux" and struct.calcsize("P") == 8:
        return BatchPort(sock)
    return SinglePort(sock)


def dropped(sock: socket.socket) -> int:
    """Datagrams that came and found the socket's buffer full; 0 where nobody counts them."""
    try:
        figures = sock.getsockopt(socket.SOL_SOCKET, _MEMINFO, _DROPS.size)
        return int(_DROPS.unpack(figures)[0])
    except (OSError, struct.error):
        return 0


def pack_address(address: tuple[str, int]) -> Address:
    """`("192.0.2.1", 7000)` as the system keeps it."""
    ip, port = address
    if ":" in ip:
        packed = socket.inet_pton(socket.AF_INET6, ip)
        return _IPV6.pack(socket.AF_INET6, port.to_bytes(2, "big"), 0, packed, 0)
    return _IPV4.pack(socket.AF_INET, port.to_bytes(2, "big"), socket.inet_aton(ip))


def unpack_address(address: Address) -> tuple[str, int]:
    """IP and port."""
    if _FAMILY.unpack_from(address)[0] == socket.AF_INET6:
        _, port, _, packed, _ = _IPV6.unpack(address)
        return socket.inet_ntop(socket.AF_INET6, packed), int.from_bytes(port, "big")
    _, port, packed = _IPV4.unpack(address)
    return socket.inet_ntoa(packed), int.from_bytes(port, "big")


def address_text(address: Address) -> str:
    """As people write it: `192.0.2.1:7000`, `[2001:db8::1]:7000`."""
    if len(address) == _IPV4.size:  # asked for every report, so without detours
        port = address[2] << 8 | address[3]
        return f"{address[4]}.{address[5]}.{address[6]}.{address[7]}:{port}"
    ip, port = unpack_address(address)
    return f"[{ip}]:{port}"


class SinglePort:
    """One datagram a call, on any system."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def receive(self) -> list[Datagram]:
        datagrams: list[Datagram] = []
        while len(datagrams) < BATCH_MAX:
            try:
                data, address = self._socket.recvfrom(DATAGRAM_SIZE_MAX)
            except (BlockingIOError, InterruptedError):
                break
            except OSError:  # an earlier datagram could not be delivered, says ICMP
                continue
            datagrams.append((data, pack_address(address[:2])))
        return datagrams

    def send(self, datagrams: Sequence[Datagram]) -> int:
        sent = 0
        for data, address in datagrams:
            try:
                self._socket.sendto(data, unpack_address(address))
            except (BlockingIOError, InterruptedError):
                break
            except OSError:  # this one cannot be reached
                continue
            sent += 1
        return sent


class _Messages:
    """Room for a batch, laid out as the system calls want it."""

    def __init__(self, slot_size: int) -> None:
        self.slot_size = slot_size
        self.data = bytearray(BATCH_MAX * slot_size)
        self.names = bytearray(BATCH_MAX * _NAME_SIZE)
        self.vectors = bytearray(BATCH_MAX * _IOVEC.size)
        self.headers = bytearray(BATCH_MAX * _HEADER.size)
        data, names, vectors = map(_location, (self.data, self.names, self.vectors))
        self.location = _location(self.headers)
        for index in range(BATCH_MAX):
            _IOVEC.pack_into(self.vectors, index * _IOVEC.size, data + index * slot_size, slot_size)
            name, vector = names + index * _NAME_SIZE, vectors + index * _IOVEC.size
            _HEADER.pack_into(
                self.headers, index * _HEADER.size, name, _NAME_SIZE, vector, 1, 0, 0, 0, 0
            )


def _location(room: bytearray) -> int:
    # The array keeps the bytearray from being resized, and the bytearray lives as long as we do.
    return ctypes.addressof((ctypes.c_char * len(room)).from_buffer(room))


class BatchPort:
    """Many datagrams a call, on 64-bit Linux."""

    def __init__(self, sock: socket.socket) -> None:
        system = ctypes.CDLL(None, use_errno=True)
        self._receive = system.recvmmsg
        self._receive.argtypes = [
            ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int, ctypes.c_void_p
        ]  # fmt: skip
        self._send = system.sendmmsg
        self._send.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int]
        self._descriptor = sock.fileno()
        self._name_size = _IPV6.size if sock.family == socket.AF_INET6 else _IPV4.size
        self._in = _Messages(DATAGRAM_SIZE_MAX)
        self._in_data, self._in_names = memoryview(self._in.data), memoryview(self._in.names)
        self._out = _Messages(DATAGRAM_SIZE_MAX)
        self._out_sizes = [DATAGRAM_SIZE_MAX] * BATCH_MAX
        for index in range(BATCH_MAX):
            at = index * _HEADER.size + _NAME_SIZE_AT
            struct.pack_into("=I", self._out.headers, at, self._name_size)

    def receive(self) -> list[Datagram]:
        count = self._receive(
            self._descriptor, self._in.location, BATCH_MAX, socket.MSG_DONTWAIT, None
        )
        if count <= 0:
            return []
        data, names, name_size = self._in_data, self._in_names, self._name_size
        datagrams = []
        at = name_at = 0
        for (size,) in _RECEIVED.iter_unpack(self._in.headers[: count * _HEADER.size]):
            datagrams.append(
                (bytes(data[at : at + size]), bytes(names[name_at : name_at + name_size]))
            )
            at += DATAGRAM_SIZE_MAX
            name_at += _NAME_SIZE
        return datagrams

    def send(self, datagrams: Sequence[Datagram]) -> int:
        sent = 0
        for start in range(0, len(datagrams), BATCH_MAX):
            portion = datagrams[start : start + BATCH_MAX]
            self._lay_out(portion)
            taken = self._send_portion(len(portion))
            sent += taken
            if taken < len(portion):
                break
        return sent

    def _lay_out(self, portion: Sequence[Datagram]) -> None:
        data, names, name_size = self._out.data, self._out.names, self._name_size
        sizes, vectors = self._out_sizes, self._out.vectors
        at = name_at = 0
        for index, (datagram, address) in enumerate(portion):
            size = len(datagram)
            data[at : at + size] = datagram
            names[name_at : name_at + name_size] = address
            if sizes[index] != size:  # most answers are alike
                sizes[index] = size
                struct.pack_into("=Q", vectors, index * _IOVEC.size + _IOVEC_SIZE_AT, size)
            at += DATAGRAM_SIZE_MAX
            name_at += _NAME_SIZE

    def _send_portion(self, count: int) -> int:
        """One that cannot be reached stops the call, and is left out of the next."""
        done = lost = 0
        while done + lost < count:
            location = self._out.location + (done + lost) * _HEADER.size
            taken = self._send(self._descriptor, location, count - done - lost, socket.MSG_DONTWAIT)
            if taken > 0:
                done += taken
            elif ctypes.get_errno() in _BLOCKED:
                return done
            else:
                lost += 1
        return count
