"""Entry: what the hub knows of one sender, a device or a server."""

from collections.abc import Callable
from typing import Literal

import msgspec

from rookery.errors import DecodeError
from rookery.wire import base32
from rookery.wire.fleet.mac import MAC_SIZE

FleetKind = Literal["router", "server"]

_GROUP_BIT = 0x01
_NO_MAC = bytes(MAC_SIZE)


class FleetEntry(msgspec.Struct, array_like=True, gc=False):
    """Changed in place, only by the report validator. New fields are appended."""

    sender: bytes  # 6 bytes: a device's MAC; see `server_id`
    kind: FleetKind
    hashname: str
    key: bytes  # public, of cipher set 40
    digest: bytes  # intermediate of the key of 2a
    generation: int  # of the newest secret that it has proved
    boot: int  # the newest, and of its reports:
    sequence: int  # the highest
    window: int  # bit i: `sequence - i` has come
    first_seen: float  # wall seconds, as are the others
    last_seen: float
    address: str = ""  # "ip:port" of its last new report
    content: bytes = b""  # the last TELEMETRY or LOAD, as it came
    strikes: int = 0  # reports of an older boot after a newer one, since struck_at
    version: int = 0  # compare-and-set in a shared hot store
    previous: int = 0  # the boot before `boot`, until another report of it comes
    struck_at: float = 0.0


# A copy, in a quarter of the time of copy.copy. It is in no stub.
copied: Callable[[FleetEntry], FleetEntry] = FleetEntry.__copy__  # type: ignore[attr-defined]

_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(FleetEntry)


def encode(entry: FleetEntry) -> bytes:
    return _ENCODER.encode(entry)


def decode(data: bytes) -> FleetEntry:
    """Read an entry that `encode` wrote, or raise DecodeError."""
    try:
        return _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(f"not an entry: {error}") from error


def server_id(hashname: str) -> bytes:
    """The sender id of a server: like a group's MAC, so that no device has the same."""
    raw = base32.decode(hashname)
    return bytes((raw[0] | _GROUP_BIT,)) + raw[1:MAC_SIZE]


def is_device_id(sender: bytes) -> bool:
    """True if it can be a single device's own MAC address."""
    return not sender[0] & _GROUP_BIT and sender != _NO_MAC
