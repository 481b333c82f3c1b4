"""Chunking: Telehash's framing of packets in a stream of bytes.

    | size | data | size | data | … | 0 |
    |  1   | size |  1   | size | … | 1 |

Data of all chunks up to the zero byte is one packet; a zero byte between packets is a keepalive.
"""

from rookery.errors import DecodeError

CHUNK_SIZE_MAX = 255


def chunk(packet: bytes, size: int = CHUNK_SIZE_MAX) -> bytes:
    """The packet in chunks of up to `size` bytes of data, and its end mark."""
    assert 0 < size <= CHUNK_SIZE_MAX
    parts: list[bytes] = []
    for start in range(0, len(packet), size):
        data = packet[start : start + size]
        parts += (len(data).to_bytes(1, "big"), data)
    parts.append(b"\0")
    return b"".join(parts)


class Dechunker:
    """Puts packets together again, however the stream was cut."""

    __slots__ = ("_missing", "_packet", "_packet_size_max")

    def __init__(self, packet_size_max: int) -> None:
        self._packet_size_max = packet_size_max
        self._packet = bytearray()
        self._missing = 0  # bytes of the current chunk still to come

    def feed(self, data: bytes) -> list[bytes]:
        """The packets that `data` completes; DecodeError when one exceeds the bound."""
        packets: list[bytes] = []
        at, end = 0, len(data)
        while at < end:
            if self._missing:
                part = data[at : at + self._missing]
                self._packet += part
                self._missing -= len(part)
                at += len(part)
                continue
            self._missing = data[at]
            at += 1
            if self._missing == 0 and self._packet:
                packets.append(bytes(self._packet))
                self._packet.clear()
            elif len(self._packet) + self._missing > self._packet_size_max:
                raise DecodeError(f"a packet of more than {self._packet_size_max} bytes")
        return packets
