"""TLV: a tag, a length and a value; all messages of the fleet, over TCP and UDP, consist of them.

    | tag | length | value  |
    |  2  |   2    | length |

Integers big-endian. Over UDP a datagram holds one to eight, whole; a stream is one after the other.
"""

from struct import Struct
from typing import NamedTuple

from rookery.errors import DecodeError

HEAD_SIZE = 4
VALUE_SIZE_MAX = 0xFFFF
DATAGRAM_TLVS_MAX = 8

_HEAD = Struct(">HH")


class Tlv(NamedTuple):
    """One message; what its value means depends on the tag."""

    tag: int
    value: bytes


def serialize(tag: int, value: bytes) -> bytes:
    """The bytes of one TLV."""
    assert len(value) <= VALUE_SIZE_MAX
    return _HEAD.pack(tag, len(value)) + value


def parse_all(data: bytes) -> list[Tlv]:
    """The one to eight TLVs that fill a datagram exactly, or DecodeError."""
    found: list[Tlv] = []
    at, end = 0, len(data)
    while at < end:
        if len(found) == DATAGRAM_TLVS_MAX:
            raise DecodeError(f"more than {DATAGRAM_TLVS_MAX} TLVs in a datagram")
        if end - at < HEAD_SIZE:
            raise DecodeError(f"{end - at} bytes cannot be a TLV")
        tag, size = _HEAD.unpack_from(data, at)
        at += HEAD_SIZE + size
        if at > end:
            raise DecodeError(f"a TLV of {size} bytes, {at - end} of which are missing")
        found.append(Tlv(tag, data[at - size : at]))
    if not found:
        raise DecodeError("an empty datagram")
    return found


class TlvReader:
    """Takes TLVs out of a stream, however it was cut; holds the beginning of one at most.

    After a DecodeError the start of the next TLV is unknown: the stream cannot be used any more.
    """

    __slots__ = ("_held", "_lacking", "_value_size_max")

    def __init__(self, value_size_max: int = VALUE_SIZE_MAX) -> None:
        self._value_size_max = value_size_max
        self._held = bytearray()
        self._lacking = HEAD_SIZE  # bytes until there is something to look at

    @property
    def is_between(self) -> bool:
        """Whether a stream that ends here was cut in no TLV."""
        return not self._held

    def feed(self, data: bytes) -> list[Tlv]:
        """The TLVs that `data` completes; DecodeError as soon as a length exceeds the bound."""
        held = self._held
        if len(data) < self._lacking:
            held += data
            self._lacking -= len(data)
            return []
        if held:
            data = bytes(held) + data
            held.clear()
        found: list[Tlv] = []
        at, end = 0, len(data)
        self._lacking = HEAD_SIZE
        while end - at >= HEAD_SIZE:
            tag, size = _HEAD.unpack_from(data, at)
            if size > self._value_size_max:
                raise DecodeError(f"a TLV of {size} bytes; {self._value_size_max} are allowed")
            stop = at + HEAD_SIZE + size
            if stop > end:
                self._lacking = stop - end
                break
            found.append(Tlv(tag, data[at + HEAD_SIZE : stop]))
            at = stop
        else:
            self._lacking = HEAD_SIZE - (end - at)
        held += memoryview(data)[at:]
        return found
