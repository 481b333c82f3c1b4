"""Pings one address: by an ICMP socket where the system allows it, else by its `ping` program.

    | type | code | checksum | identifier | sequence | data |
    |  1   |  1   |    2     |     2      |    2     |  …   |

A datagram ICMP socket lets the kernel choose the identifier; a raw one of IPv4 also returns the IP
header in front. So a reply is recognised by its data, which is random.
"""

import asyncio
import re
import shutil
import socket
import struct
import time
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address
from os import urandom

from rookery.errors import DecodeError, DeniedError, UnreachableError

_HEADER = struct.Struct("!BBHHH")
_REQUEST = {4: 8, 6: 128}
_REPLY = {4: 0, 6: 129}
_IP_HEADER_SIZE_MIN = 20


def echo_request(family: int, sequence: int, data: bytes) -> bytes:
    """A request of IP version 4 or 6; the kernel sees to the checksum of version 6."""
    kind = _REQUEST[family]
    bare = _HEADER.pack(kind, 0, 0, 0, sequence) + data
    return _HEADER.pack(kind, 0, _checksum(bare), 0, sequence) + data


def echo_reply(family: int, packet: bytes) -> tuple[int, bytes]:
    """Sequence and data of a reply; DecodeError for anything else that came by."""
    if family == 4 and packet[:1] and packet[0] >> 4 == 4:
        packet = packet[max((packet[0] & 15) * 4, _IP_HEADER_SIZE_MIN) :]
    if len(packet) < _HEADER.size:
        raise DecodeError(f"{len(packet)} bytes cannot be ICMP")
    kind, code, _, _, sequence = _HEADER.unpack_from(packet)
    if (kind, code) != (_REPLY[family], 0):
        raise DecodeError("not an echo reply")
    return sequence, packet[_HEADER.size :]


def _checksum(data: bytes) -> int:
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


IpAddress = IPv4Address | IPv6Address

INTERVAL_S = 0.2  # between two requests

_DATA_SIZE = 48
_PACKET_SIZE_MAX = 2048
_PROTOCOLS = {4: socket.IPPROTO_ICMP, 6: socket.IPPROTO_ICMPV6}
_FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}
_PRINTED = re.compile(rb"seq[= ](\d+).*?time[=<]([\d.]+) ?ms")


async def round_trips(
    address: IpAddress, count: int, timeout_s: float
) -> tuple[list[float | None], str]:
    """Milliseconds of each ping, None for a lost one, and which means was used."""
    for kind, name in ((socket.SOCK_DGRAM, "icmp"), (socket.SOCK_RAW, "raw icmp")):
        try:
            sock = socket.socket(_FAMILIES[address.version], kind, _PROTOCOLS[address.version])
        except OSError:  # this kind is not for us
            continue
        with sock:
            return await _by_socket(sock, address, count, timeout_s), name
    program = shutil.which("ping")
    if program is None:
        raise DeniedError(
            "the agent may not send ICMP and there is no ping program; widen "
            "net.ipv4.ping_group_range or install one"
        )
    return await _by_program(program, address, count, timeout_s), "ping"


async def _by_socket(
    sock: socket.socket, address: IpAddress, count: int, timeout_s: float
) -> list[float | None]:
    loop = asyncio.get_running_loop()
    sock.setblocking(False)
    data = urandom(_DATA_SIZE)
    sent_at: list[float] = []
    found: list[float | None] = [None] * count
    try:
        sock.connect((str(address), 0))
        async with asyncio.timeout(timeout_s + (count - 1) * INTERVAL_S):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_receive(sock, address.version, data, sent_at, found))
                for sequence in range(count):
                    sent_at.append(time.perf_counter())
                    await loop.sock_sendall(sock, echo_request(address.version, sequence, data))
                    if sequence + 1 < count:
                        await asyncio.sleep(INTERVAL_S)
    except TimeoutError:
        pass  # what is missing by now is lost
    except (OSError, ExceptionGroup) as error:
        raise UnreachableError(f"no packet can be sent to {address}: {_reason(error)}") from error
    return found


async def _receive(
    sock: socket.socket,
    family: int,
    data: bytes,
    sent_at: Sequence[float],
    found: list[float | None],
) -> None:
    loop = asyncio.get_running_loop()
    while None in found:
        packet = await loop.sock_recv(sock, _PACKET_SIZE_MAX)
        try:
            sequence, echoed = echo_reply(family, packet)
        except DecodeError:
            continue
        if echoed == data and sequence < len(sent_at) and found[sequence] is None:
            found[sequence] = round((time.perf_counter() - sent_at[sequence]) * 1000, 3)


async def _by_program(
    program: str, address: IpAddress, count: int, timeout_s: float
) -> list[float | None]:
    arguments = ["-n", "-c", str(count), "-W", str(max(round(timeout_s), 1)), str(address)]
    process = await asyncio.create_subprocess_exec(
        program,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(timeout_s + count + 1.0):  # it pings once a second
            printed, _ = await process.communicate()
    except TimeoutError:
        printed = b""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return printed_times(printed, count)


def printed_times(printed: bytes, count: int) -> list[float | None]:
    """The program's result of each ping; some programs count from 0, most from 1."""
    pairs = [(int(sequence), float(ms)) for sequence, ms in _PRINTED.findall(printed)]
    first = 0 if any(sequence == 0 for sequence, _ in pairs) else 1
    times: list[float | None] = [None] * count
    for sequence, ms in pairs:
        if sequence - first < count:
            times[sequence - first] = ms
    return times


def _reason(error: OSError | ExceptionGroup[Exception]) -> str:
    if isinstance(error, ExceptionGroup):
        return str(error.exceptions[0])
    return error.strerror or str(error)
