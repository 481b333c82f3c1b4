"""Record: what one member tells the realm about itself, the content of a signed statement.

    | origin | epoch | sequence | made | lifetime | roles | area | links | paths | services |
    |   8    |   4   |    4     |  8   |    2     |   2   |  2   |   1   |   1   |    1     |
    followed by as many links, paths and services:

    link     | peer | label | cost | loss | rate |        sorted by peer, each peer once
             |  8   |   2   |  4   |  1   |  1   |
    path     | carrier and family | address | port |      where the origin can be dialled
             |         1          | 4 or 16 |  2   |
    service  | size | text |
             |  1   | size |

Integers big-endian. An origin's records are ordered by (epoch, sequence), and by nothing else:
the epoch grows with every start of the node, the sequence with every record. One record has one
form on the wire, so what was parsed serializes to the same bytes.
"""

import struct
from ipaddress import ip_address
from itertools import pairwise
from math import log2
from typing import Self

import msgspec

from rookery.errors import DecodeError, UsageError
from rookery.wire.link.path import NetPath
from rookery.wire.link.transport import RECORDED_KINDS
from rookery.wire.mesh.node_id import NODE_ID_SIZE, NodeId

Version = tuple[int, int]

LINKS_MAX = 48
PATHS_MAX = 8
SERVICES_MAX = 8
SERVICE_SIZE_MAX = 32
COST_MAX = 2**32 - 2  # microseconds
LOSS_MAX = 0xFF  # everything is lost

_HEAD = struct.Struct(">8sIIQHHHBBB")
_LINK = struct.Struct(">8sHIBB")
_PORT = struct.Struct(">H")
_ADDRESS_SIZES = (4, 16)
_RATE_STEPS = 8  # in a doubling
_RATE_MAX = 0xFF


class RecordLink(msgspec.Struct, frozen=True, gc=False):
    """A link as its one end sees it; it counts when the other end's record has it too."""

    peer: NodeId
    label: int
    cost_us: int
    loss: int = 0  # of what is sent, in 255ths
    rate: int = 0  # as of `rate_code`

    @property
    def bytes_per_s(self) -> float | None:
        return 2.0 ** (self.rate / _RATE_STEPS) if self.rate else None


class Record(msgspec.Struct, frozen=True):
    origin: NodeId
    epoch: int
    sequence: int
    made_s: int  # unix time
    lifetime_s: int
    roles: int = 0
    area: int = 0
    links: tuple[RecordLink, ...] = ()
    paths: tuple[NetPath, ...] = ()
    services: tuple[str, ...] = ()

    @property
    def version(self) -> Version:
        return self.epoch, self.sequence

    def serialize(self) -> bytes:
        fault = _fault(self)
        if fault is not None:
            raise UsageError(fault)
        counts = len(self.links), len(self.paths), len(self.services)
        version = self.epoch, self.sequence, self.made_s, self.lifetime_s
        try:
            parts = [_HEAD.pack(self.origin, *version, self.roles, self.area, *counts)]
            parts += [
                _LINK.pack(link.peer, link.label, link.cost_us, link.loss, link.rate)
                for link in self.links
            ]
        except struct.error as error:
            raise UsageError("a number is too large for its field") from error
        parts += [_path_bytes(path) for path in self.paths]
        parts += [bytes([len(text := name.encode())]) + text for name in self.services]
        return b"".join(parts)

    @classmethod
    def parse(cls, content: bytes) -> Self:
        if len(content) < _HEAD.size:
            raise DecodeError("record is cut short")
        origin, epoch, sequence, made_s, lifetime_s, *more = _HEAD.unpack_from(content)
        roles, area, link_count, path_count, service_count = more
        at = _HEAD.size + link_count * _LINK.size
        if len(content) < at:
            raise DecodeError("record is cut short")
        rows = _LINK.iter_unpack(content[_HEAD.size : at])
        links = tuple(RecordLink(*row) for row in rows)
        rest = _RecordReader(content, at)
        paths = tuple(rest.path() for _ in range(path_count))
        services = tuple(rest.service() for _ in range(service_count))
        if rest.at != len(content):
            raise DecodeError("record is too long")
        head = origin, epoch, sequence, made_s, lifetime_s, roles, area
        record = cls(*head, links, paths, services)
        fault = _fault(record)
        if fault is not None:
            raise DecodeError(fault)
        return record


def version_of(content: bytes) -> tuple[NodeId, Version]:
    """Origin and version alone, for a record that may be old news and not worth parsing."""
    if len(content) < _HEAD.size:
        raise DecodeError("record is cut short")
    origin, epoch, sequence, *_ = _HEAD.unpack_from(content)
    return origin, (epoch, sequence)


def rate_code(bytes_per_s: float) -> int:
    """A rate as in records, in eighths of a doubling; 0: unknown."""
    if bytes_per_s <= 1.0:
        return 0
    return max(1, min(_RATE_MAX, round(_RATE_STEPS * log2(bytes_per_s))))


class _RecordReader:
    """Reads the parts of varying size behind the links."""

    def __init__(self, content: bytes, at: int) -> None:
        self._content = content
        self.at = at

    def path(self) -> NetPath:
        (code,) = self._take(1)
        if code >= len(RECORDED_KINDS):
            raise DecodeError("record has a path of no known kind")
        address = ip_address(self._take(_ADDRESS_SIZES[code & 1]))
        (port,) = _PORT.unpack(self._take(_PORT.size))
        return NetPath(RECORDED_KINDS[code], str(address), port)

    def service(self) -> str:
        (size,) = self._take(1)
        try:
            return self._take(size).decode()
        except UnicodeDecodeError as error:
            raise DecodeError("record has a service that is no text") from error

    def _take(self, size: int) -> bytes:
        data = self._content[self.at : self.at + size]
        if len(data) < size:
            raise DecodeError("record is cut short")
        self.at += size
        return data


def _path_bytes(path: NetPath) -> bytes:
    try:
        code = RECORDED_KINDS.index(path.kind)
        address = ip_address(path.ip).packed
    except ValueError as error:
        raise UsageError(f"{path} cannot be told in a record") from error
    if len(address) != _ADDRESS_SIZES[code & 1]:
        raise UsageError(f"{path} has an address of the other family")
    return bytes([code]) + address + _PORT.pack(path.port)


def _fault(record: Record) -> str | None:
    """What is wrong with a record, as a short text that never changes."""
    links, services = record.links, record.services
    if len(links) > LINKS_MAX or len(record.paths) > PATHS_MAX or len(services) > SERVICES_MAX:
        return "record lists too much"
    if len(record.origin) != NODE_ID_SIZE or any(len(link.peer) != NODE_ID_SIZE for link in links):
        return "record has a node id of a wrong size"
    if any(one.peer >= other.peer for one, other in pairwise(links)):
        return "record has its links out of order"
    if any(link.peer == record.origin for link in links):
        return "record has a link to its own origin"
    if any(not 0 < link.cost_us <= COST_MAX for link in links):
        return "record has a cost out of bounds"
    if any(not 0 < path.port < 0x10000 for path in record.paths):
        return "record has a path without a port"
    if len(set(record.paths)) < len(record.paths) or len(set(services)) < len(services):
        return "record says a thing twice"
    if any(not _is_service(service) for service in services):
        return "record has a service with a bad name"
    if record.lifetime_s == 0:
        return "record has no lifetime"
    return None


def _is_service(name: str) -> bool:
    return 0 < len(name.encode()) <= SERVICE_SIZE_MAX and name.isprintable()
