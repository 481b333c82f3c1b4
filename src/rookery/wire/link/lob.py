"""Length-Object-Binary: the one packet shape of the Telehash wire.

    | length | head   | body |
    |   2    | length | ...  |

Sizes in bytes, length big-endian. An empty head marks an encrypted channel packet, 1 to 6 bytes
are an opaque binary head (an encrypted message has its CSID there), 7 and more are a JSON object.
The body runs to the end; another packet in it is "attached".
"""

from collections.abc import Mapping
from typing import Final, Self

import msgspec

from rookery.errors import DecodeError
from rookery.wire.octets import Octets

HEAD_SIZE_MAX: Final = 0x7FFF  # the public JavaScript peer reads the length as signed
JSON_SIZE_MIN: Final = 7
NO_HEAD: Final = b"\x00\x00"  # what a channel packet begins with

JsonObject = dict[str, object]

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(JsonObject).decode


class Packet(msgspec.Struct, frozen=True, gc=False):
    """One packet; `head` is kept as the bytes that were on the wire."""

    head: bytes = b""
    body: bytes = b""

    @classmethod
    def of(cls, head: Mapping[str, object], body: bytes = b"") -> Self:
        """A packet with a JSON head; an empty object becomes no head at all."""
        return cls(_encode(head) if head else b"", body)

    @property
    def is_json(self) -> bool:
        return len(self.head) >= JSON_SIZE_MIN

    @property
    def json(self) -> JsonObject:
        """The JSON head; an absent one reads as an empty object."""
        if not self.head:
            return {}
        if not self.is_json:
            raise DecodeError(f"a {len(self.head)}-byte head is not JSON")
        try:
            return _decode(self.head)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise DecodeError("the head is not a JSON object") from error

    def serialize(self) -> bytes:
        size = len(self.head)
        assert size <= HEAD_SIZE_MAX, "head too long for the wire"
        return size.to_bytes(2, "big") + self.head + self.body

    @classmethod
    def parse(cls, data: Octets) -> Self:
        """Read one packet; the only fatal error is a head longer than the data."""
        if len(data) < 2:
            raise DecodeError(f"{len(data)} bytes cannot be a packet")
        size = 2 + int.from_bytes(data[:2], "big")
        if size > len(data):
            raise DecodeError(f"the head should end at {size}, the data at {len(data)}")
        return cls(bytes(data[2:size]), bytes(data[size:]))


def integer(head: JsonObject, key: str) -> int | None:
    """The integer under `key`; None when absent or anything else (a bool is not one)."""
    value = head.get(key)
    return value if type(value) is int else None


def text(head: JsonObject, key: str) -> str | None:
    """The string under `key`; None when absent or anything else."""
    value = head.get(key)
    return value if isinstance(value, str) else None
