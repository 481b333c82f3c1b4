"""ICMP echo: what a ping sends and what comes back, for IPv4 and IPv6.

    | type | code | checksum | identifier | sequence | data |
    |  1   |  1   |    2     |     2      |    2     |  …   |

A datagram ICMP socket lets the kernel choose the identifier; a raw one of IPv4 also hands over the
IP header in front. So an answer is known by its data, which nobody can guess.
"""

import struct

from rookery.errors import DecodeError

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
