"""Snapshot: the entries of a hot store in memory as one file.

    | "RKHOT" | version | frame | … | the end |     frame:    | length | crc32 | entries |
    |    5    |    1    |  …    | … |    8    |               |   4    |   4   |   ...   |

Sizes in bytes, integers big-endian; `entries` is a msgpack array, and the end is a frame of zeros.
The file replaces the earlier one as a whole, so that a crash leaves that. What is damaged is
reported and not believed at all: the database knows the same senders.
"""

import logging
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from rookery.errors import DecodeError
from rookery.fleet.entry import FleetEntry

VERSION = 1

_MAGIC = b"RKHOT"
_HEADER = _MAGIC + bytes([VERSION])
_FRAME = struct.Struct(">II")
_END = _FRAME.pack(0, 0)
_log = logging.getLogger(__name__)
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[FleetEntry])


def frame(entries: Sequence[FleetEntry]) -> bytes:
    """Some entries, as a part of a snapshot."""
    content = _encoder.encode(entries)
    return _FRAME.pack(len(content), zlib.crc32(content)) + content


def serialize(frames: Sequence[bytes]) -> bytes:
    """The whole file."""
    return b"".join((_HEADER, *frames, _END))


def parse(data: bytes) -> list[FleetEntry]:
    """All entries of a file, or DecodeError."""
    if data[: len(_MAGIC)] != _MAGIC:
        raise DecodeError("no snapshot of a hot store")
    if data[: len(_HEADER)] != _HEADER:
        raise DecodeError(f"a snapshot of another version than {VERSION}")
    entries: list[FleetEntry] = []
    offset = len(_HEADER)
    while len(data) >= offset + _FRAME.size:
        size, checksum = _FRAME.unpack_from(data, offset)
        offset += _FRAME.size
        if not size:
            return entries
        content = data[offset : offset + size]
        if len(content) != size or zlib.crc32(content) != checksum:
            break
        try:
            entries += _decoder.decode(content)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise DecodeError(f"entries that are none: {error}") from error
        offset += size
    raise DecodeError(f"damaged after {offset} of {len(data)} bytes")


def load(path: Path) -> list[FleetEntry]:
    """What an earlier process left; nothing when there is no file, or none that can be believed."""
    try:
        return parse(path.read_bytes())
    except FileNotFoundError:
        return []
    except (OSError, DecodeError) as error:
        _log.warning("the snapshot %s is ignored: %s", path, error)
        return []
