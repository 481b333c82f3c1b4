"""Opening: the first bytes of every stream in a tunnel, from the side that opened it.

    | priority | service n | meta n | service | meta |
    |    1     |     1     |   2    |    n    |  n   |

Sizes in bytes, integers big-endian; service is UTF-8, meta a JSON object or nothing. Being part
of the stream it is never lost, never late and may be larger than a packet.
"""

from struct import Struct
from typing import Self

import msgspec

from rookery.errors import DecodeError
from rookery.wire.link.lob import JsonObject

HEADER_SIZE = 4
META_SIZE_MAX = 4096
SERVICE_SIZE_MAX = 255
PRIORITY_MAX = 7

_HEADER = Struct(">BBH")
_decode = msgspec.json.Decoder(JsonObject).decode


class StreamOpening(msgspec.Struct, frozen=True):
    """The service that a stream is for, and its opener's parameters."""

    service: str
    meta: JsonObject
    priority: int

    def serialize(self) -> bytes:
        service = self.service.encode()
        meta = msgspec.json.encode(self.meta) if self.meta else b""
        assert len(service) <= SERVICE_SIZE_MAX
        assert len(meta) <= META_SIZE_MAX
        assert 0 <= self.priority <= PRIORITY_MAX
        return _HEADER.pack(self.priority, len(service), len(meta)) + service + meta

    @staticmethod
    def size(header: bytes) -> int:
        """How many bytes the opening has, by its first four; or DecodeError."""
        priority, service_size, meta_size = _HEADER.unpack(header)
        if priority > PRIORITY_MAX or meta_size > META_SIZE_MAX:
            raise DecodeError("an opening beyond its bounds")
        return HEADER_SIZE + int(service_size) + int(meta_size)

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read exactly one opening, or raise DecodeError."""
        if len(data) < HEADER_SIZE or len(data) != cls.size(data[:HEADER_SIZE]):
            raise DecodeError("not an opening")
        end = HEADER_SIZE + data[1]
        try:
            service = data[HEADER_SIZE:end].decode()
            meta = _decode(data[end:]) if len(data) > end else {}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise DecodeError("an opening that says nothing") from None
        return cls(service, meta, data[0])
