"""Flood: the frames by which neighbours pass statements on, and find what the other lacks.

    STATEMENTS  | 4 |   | size | statement |  …                      here, take these
                          |  2   |   size    |
    DIGEST      | 5 |   | digest |                                   of all I have, or
                          |   8    |
                        | digest × 256 |                             of each bucket
                          |    4         |
    SUMMARY     | 6 |   | bucket | count | kind | key | version |  …  what I have in these buckets
                          |   1    |   2   |  1   |  8  |    8    |
    WANT        | 7 |   | kind | key |  …                            please send me those
                          |  1   |  8  |

Heads left, bodies right; integers big-endian. A digest is the exclusive or, over the statements it
is about, of the first bytes of BLAKE2b-64(kind ‖ key ‖ version). A record's key is its origin, its
version is epoch ‖ sequence; any other statement's key is BLAKE2b-64 of all its bytes, its version
0. Records are in buckets 128 to 255, the others in 0 to 127, by the last 7 bits of
BLAKE2b-64(kind ‖ key).
"""

import struct
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple, Self

import msgspec

from rookery.errors import DecodeError
from rookery.wire.link.frame_types import DIGEST, STATEMENTS, SUMMARY, WANT
from rookery.wire.mesh.statement import KINDS, REALM_ID_SIZE, RECORD, STATEMENT_SIZE_MAX

KEY_SIZE = 8
BUCKETS = 256
BODY_SIZE = 1200  # what a sender fills a frame up to
SUMMARY_SIZE_MAX = 1 << 14

_ORIGIN_AT = 2 + REALM_ID_SIZE  # in a record's statement
_ROOT_SIZE = 8
_DIGEST_SIZE = 4
_SIZE = struct.Struct(">H")
_SECTION = struct.Struct(">BH")
_ENTRY = struct.Struct(">B8sQ")
_KEY = struct.Struct(">B8s")

STATEMENTS_SIZE_MAX = _SIZE.size + STATEMENT_SIZE_MAX
WANTED_MAX = BODY_SIZE // _KEY.size
SECTION_ENTRIES_MAX = (SUMMARY_SIZE_MAX - _SECTION.size) // _ENTRY.size


class StatementKey(NamedTuple):
    """What identifies a statement, whichever version of it."""

    kind: int
    key: bytes

    @property
    def bucket(self) -> int:
        place = blake2b(_KEY.pack(*self), digest_size=8).digest()[-1] & 0x7F
        return place | 0x80 if self.kind == RECORD else place


class SummaryEntry(NamedTuple):
    """A statement that a node has."""

    kind: int
    key: bytes
    version: int

    @property
    def digest(self) -> int:
        return int.from_bytes(blake2b(_ENTRY.pack(*self), digest_size=_ROOT_SIZE).digest())


class SummarySection(NamedTuple):
    """All that a node has in one bucket, sorted."""

    bucket: int
    entries: tuple[SummaryEntry, ...]

    @property
    def size(self) -> int:
        return _SECTION.size + len(self.entries) * _ENTRY.size


def statement_key(data: bytes) -> bytes:
    """The key of a statement that is no record."""
    return blake2b(data, digest_size=KEY_SIZE).digest()


def key_of(data: bytes) -> StatementKey:
    """Which statement these bytes would be; nothing is verified."""
    if len(data) < _ORIGIN_AT + KEY_SIZE:
        raise DecodeError("statement of a wrong size")
    if data[1] == RECORD:
        return StatementKey(RECORD, data[_ORIGIN_AT : _ORIGIN_AT + KEY_SIZE])
    return StatementKey(data[1], statement_key(data))


class Statements(msgspec.Struct, frozen=True):
    statements: tuple[bytes, ...]

    @classmethod
    def parse(cls, head: bytes, body: bytes) -> Self:
        _check_head(head, STATEMENTS)
        if len(body) > STATEMENTS_SIZE_MAX:
            raise DecodeError("statements frame too large")
        statements, at = [], 0
        while at < len(body):
            if len(body) < at + _SIZE.size:
                raise DecodeError("statements cut short")
            (size,) = _SIZE.unpack_from(body, at)
            at += _SIZE.size
            if size == 0 or len(body) < at + size:
                raise DecodeError("statements cut short")
            statements.append(body[at : at + size])
            at += size
        return cls(tuple(statements))

    def serialize(self) -> tuple[bytes, bytes]:
        parts = [_SIZE.pack(len(data)) + data for data in self.statements]
        return bytes((STATEMENTS,)), b"".join(parts)


class RootDigest(msgspec.Struct, frozen=True):
    digest: int

    def serialize(self) -> tuple[bytes, bytes]:
        return bytes((DIGEST,)), self.digest.to_bytes(_ROOT_SIZE)


class BucketDigests(msgspec.Struct, frozen=True):
    digests: tuple[int, ...]  # whole digests; the first half of each is sent

    def serialize(self) -> tuple[bytes, bytes]:
        return bytes((DIGEST,)), b"".join(
            digest.to_bytes(_ROOT_SIZE)[:_DIGEST_SIZE] for digest in self.digests
        )

    @staticmethod
    def told(digest: int) -> int:
        """The part of a bucket's digest that is sent."""
        return digest >> 8 * (_ROOT_SIZE - _DIGEST_SIZE) << 8 * (_ROOT_SIZE - _DIGEST_SIZE)


def parse_digest(head: bytes, body: bytes) -> RootDigest | BucketDigests:
    _check_head(head, DIGEST)
    if len(body) == _ROOT_SIZE:
        return RootDigest(int.from_bytes(body))
    if len(body) != BUCKETS * _DIGEST_SIZE:
        raise DecodeError("digest of a wrong size")
    shift = 8 * (_ROOT_SIZE - _DIGEST_SIZE)
    return BucketDigests(tuple(part << shift for (part,) in struct.iter_unpack(">I", body)))


class Summary(msgspec.Struct, frozen=True):
    sections: tuple[SummarySection, ...]

    @classmethod
    def parse(cls, head: bytes, body: bytes) -> Self:
        _check_head(head, SUMMARY)
        if len(body) > SUMMARY_SIZE_MAX:
            raise DecodeError("summary too large")
        sections, at = [], 0
        while at < len(body):
            if len(body) < at + _SECTION.size:
                raise DecodeError("summary cut short")
            bucket, count = _SECTION.unpack_from(body, at)
            at += _SECTION.size
            end = at + count * _ENTRY.size
            if len(body) < end:
                raise DecodeError("summary cut short")
            sections.append(_section(bucket, body[at:end]))
            at = end
        if any(one.bucket >= other.bucket for one, other in pairwise(sections)):
            raise DecodeError("summary out of order")
        return cls(tuple(sections))

    def serialize(self) -> tuple[bytes, bytes]:
        parts = []
        for bucket, entries in self.sections:
            parts.append(_SECTION.pack(bucket, len(entries)))
            parts += [_ENTRY.pack(*entry) for entry in entries]
        return bytes((SUMMARY,)), b"".join(parts)


class Want(msgspec.Struct, frozen=True):
    keys: tuple[StatementKey, ...]

    @classmethod
    def parse(cls, head: bytes, body: bytes) -> Self:
        _check_head(head, WANT)
        if len(body) > WANTED_MAX * _KEY.size or len(body) % _KEY.size:
            raise DecodeError("want of a wrong size")
        keys = tuple(StatementKey(*row) for row in _KEY.iter_unpack(body))
        if any(key.kind not in KINDS for key in keys):
            raise DecodeError("want of an unknown kind")
        return cls(keys)

    def serialize(self) -> tuple[bytes, bytes]:
        return bytes((WANT,)), b"".join(_KEY.pack(*key) for key in self.keys)


def _section(bucket: int, rows: bytes) -> SummarySection:
    entries = tuple(SummaryEntry(*row) for row in _ENTRY.iter_unpack(rows))
    if any(one[:2] >= other[:2] for one, other in pairwise(entries)):
        raise DecodeError("summary out of order")
    if any(entry.kind not in KINDS for entry in entries):
        raise DecodeError("summary of an unknown kind")
    if any(StatementKey(entry.kind, entry.key).bucket != bucket for entry in entries):
        raise DecodeError("summary of a wrong bucket")
    return SummarySection(bucket, entries)


def _check_head(head: bytes, frame_type: int) -> None:
    if head != bytes((frame_type,)):
        raise DecodeError("flood frame with a wrong head")
