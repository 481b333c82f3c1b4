"""Datagrams in batches: one system call for many, where Linux offers it.

Reports come from as many addresses as there are devices, so segmentation offload has nothing to
join. `recvmmsg` and `sendmmsg` do: the batch is one call, and a sender's address stays the bytes
that the kernel wrote until it is to be printed. Datagrams and addresses are in two lists, of
which the items with the same index belong together: a pair of each would cost more than the call.

    mmsghdr   | name | name size | iovec | iovecs | control | size | flags | received |    64 bytes
              |  8   |  4 (+ 4)  |   8   |   8    |    8    |  8   | 4 (+4)|  4 (+ 4) |
"""

import contextlib
import ctypes
import errno
import socket
import struct
import sys
from bisect import bisect_right
from typing import Final, Protocol

BATCH_MAX: Final = 64
DATAGRAM_SIZE_MAX: Final = 2048  # longer ones are cut, and no report then
HEAD_SIZE: Final = 512  # of which most datagrams need no more
BUFFER_SIZE: Final = 8 << 20
SIZES_MAX: Final = 16  # of answers, for which room is kept

Address = bytes  # a socket address as the system keeps it
Received = tuple[list[bytes], list[Address]]  # datagrams, and where each came from

_HEADER: Final = struct.Struct("=QI4xQQQQi4xI4x")
_SIZES: Final = slice(56 // 4, None, 64 // 4)  # of all headers, as integers of 4 bytes
_IOVEC: Final = struct.Struct("=QQ")
_FAMILY: Final = struct.Struct("=H")
_IPV4: Final = struct.Struct("=H2s4s8x")
_IPV4_SIZE: Final = 16
_IPV6: Final = struct.Struct("=H2sI16sI")
_SNDBUFFORCE, _RCVBUFFORCE, _MEMINFO = 32, 33, 55  # Linux's
_DROPS: Final = struct.Struct("=32xI")
_OCTETS: Final = [f"{octet}." for octet in range(256)]
_LAST_OCTETS: Final = [f"{octet}:" for octet in range(256)]
_BLOCKED: Final = frozenset({errno.EAGAIN, errno.EINTR, errno.ENOBUFS})


class HubDatagramSocket(Protocol):
    """A bound, non-blocking UDP socket; whoever made the socket closes it."""

    def receive(self) -> Received:
        """Up to BATCH_MAX that are there; none when nothing is."""
        ...

    def send(self, datagrams: list[bytes], addresses: list[Address]) -> int:
        """How many of these the system took; the rest are as good as lost."""
        ...


def datagram_socket(sock: socket.socket) -> HubDatagramSocket:
    """The fastest way this system has."""
    for option, forced in ((socket.SO_RCVBUF, _RCVBUFFORCE), (socket.SO_SNDBUF, _SNDBUFFORCE)):
        sock.setsockopt(socket.SOL_SOCKET, option, BUFFER_SIZE)
        with contextlib.suppress(OSError):  # beyond the system's bound, for those who may
            sock.setsockopt(socket.SOL_SOCKET, forced, BUFFER_SIZE)
    if sys.platform == "linux" and struct.calcsize("P") == 8:
        return BatchDatagramSocket(sock)
    return SingleDatagramSocket(sock)


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
    if len(address) == _IPV4_SIZE:  # asked for every report, so without detours
        port = str(address[2] << 8 | address[3])
        first, second = _OCTETS[address[4]], _OCTETS[address[5]]
        return first + second + _OCTETS[address[6]] + _LAST_OCTETS[address[7]] + port
    ip, number = unpack_address(address)
    return f"[{ip}]:{number}"


class SingleDatagramSocket:
    """One datagram a call, on any system."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def receive(self) -> Received:
        datagrams: list[bytes] = []
        addresses: list[Address] = []
        while len(datagrams) < BATCH_MAX:
            try:
                data, address = self._socket.recvfrom(DATAGRAM_SIZE_MAX)
            except (BlockingIOError, InterruptedError):
                break
            except OSError:  # an earlier datagram could not be delivered, says ICMP
                continue
            datagrams.append(data)
            addresses.append(pack_address(address[:2]))
        return datagrams, addresses

    def send(self, datagrams: list[bytes], addresses: list[Address]) -> int:
        sent = 0
        for data, address in zip(datagrams, addresses, strict=True):
            try:
                self._socket.sendto(data, unpack_address(address))
            except (BlockingIOError, InterruptedError):
                break
            except OSError:  # this one cannot be reached
                continue
            sent += 1
        return sent


class _MessageBuffers:
    """Room for a batch of datagrams up to a size, laid out as the system calls want it.

    What a datagram has beyond the first `head_size` bytes is in `rest`: so the beginnings of all
    are close together, and can be taken out as one.
    """

    def __init__(self, size: int, name_size: int, head_size: int) -> None:
        rest_size = size - head_size
        self.data = bytearray(BATCH_MAX * head_size)
        self.rest = bytearray(BATCH_MAX * rest_size)
        self.names = bytearray(BATCH_MAX * name_size)
        self._vectors = bytearray(BATCH_MAX * 2 * _IOVEC.size)
        self.headers = bytearray(BATCH_MAX * _HEADER.size)
        data, names, vectors = map(_location, (self.data, self.names, self._vectors))
        rest = _location(self.rest) if rest_size else 0
        self.location = _location(self.headers)
        for index in range(BATCH_MAX):
            at = index * 2 * _IOVEC.size
            _IOVEC.pack_into(self._vectors, at, data + index * head_size, head_size)
            _IOVEC.pack_into(self._vectors, at + _IOVEC.size, rest + index * rest_size, rest_size)
            header = (names + index * name_size, name_size, vectors + at, 2 if rest else 1)
            _HEADER.pack_into(self.headers, index * _HEADER.size, *header, 0, 0, 0, 0)


def _location(room: bytearray) -> int:
    # The array keeps the bytearray from being resized, and the bytearray lives as long as we do.
    return ctypes.addressof((ctypes.c_char * len(room)).from_buffer(room))


class BatchDatagramSocket:
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
        self._in = _MessageBuffers(DATAGRAM_SIZE_MAX, self._name_size, HEAD_SIZE)
        self._in_heads = memoryview(self._in.data)
        self._in_rest = memoryview(self._in.rest)
        self._in_sizes = memoryview(self._in.headers).cast("I")[_SIZES]
        self._out: dict[int, _MessageBuffers] = {}  # by size of the datagrams

    def receive(self) -> Received:
        datagrams: list[bytes] = []
        addresses: list[Address] = []
        count: int = self._receive(
            self._descriptor, self._in.location, BATCH_MAX, socket.MSG_DONTWAIT, None
        )
        if count <= 0:
            return datagrams, addresses
        heads, names = bytes(self._in_heads[: count * HEAD_SIZE]), bytes(self._in.names)
        name_size, at, name_at = self._name_size, 0, 0
        sizes: list[int] = self._in_sizes[:count].tolist()
        for size in sizes:
            head = heads[at : at + min(size, HEAD_SIZE)]
            datagrams.append(head if size <= HEAD_SIZE else head + self._rest(at, size))
            addresses.append(names[name_at : name_at + name_size])
            at += HEAD_SIZE
            name_at += name_size
        return datagrams, addresses

    def _rest(self, head_at: int, size: int) -> bytes:
        at = head_at // HEAD_SIZE * (DATAGRAM_SIZE_MAX - HEAD_SIZE)
        return bytes(self._in_rest[at : at + size - HEAD_SIZE])

    def send(self, datagrams: list[bytes], addresses: list[Address]) -> int:
        """Those of one size together: there are few sizes, and most answers have the same."""
        sizes = [len(datagram) for datagram in datagrams]
        if len(set(sizes)) > 1:
            order = sorted(range(len(sizes)), key=sizes.__getitem__)
            sizes.sort()
            datagrams = [datagrams[index] for index in order]
            addresses = [addresses[index] for index in order]
        sent = start = 0
        while start < len(sizes):
            stop = min(start + BATCH_MAX, bisect_right(sizes, sizes[start]))
            messages = self._laid_out(sizes[start], datagrams[start:stop], addresses[start:stop])
            taken = self._send_portion(messages, stop - start)
            sent += taken
            if taken < stop - start:
                break
            start = stop
        return sent

    def _laid_out(
        self, size: int, portion: list[bytes], addresses: list[Address]
    ) -> _MessageBuffers:
        messages = self._out.get(size)
        if messages is None:
            if len(self._out) >= SIZES_MAX:
                self._out.clear()
            messages = self._out[size] = _MessageBuffers(size, self._name_size, size)
        count = len(portion)
        messages.data[: count * size] = b"".join(portion)
        messages.names[: count * self._name_size] = b"".join(addresses)
        return messages

    def _send_portion(self, messages: _MessageBuffers, count: int) -> int:
        """One that cannot be reached stops the call, and is left out of the next."""
        dealt = 0
        while dealt < count:
            location = messages.location + dealt * _HEADER.size
            taken = self._send(self._descriptor, location, count - dealt, socket.MSG_DONTWAIT)
            if taken <= 0 and ctypes.get_errno() in _BLOCKED:
                return dealt
            dealt += max(taken, 1)
        return count
