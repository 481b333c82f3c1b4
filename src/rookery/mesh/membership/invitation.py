"""Invitation: one address and one secret that let one endpoint join a realm, as a short URL.

    rookery:join/<base32>

    | version | expires | secret | root | key | name size | name | intermediates | paths | sum |
    |    1    |    8    |   16   |  32  | 64  |     1     |  n   |       …       |   …   |  4  |

    intermediates  | count | count × (csid | intermediate) |    paths  | count | count × path |
                   |   1   |         (  1  |      32     ) |           |   1   |              |

    path           | kind | IP address | port |                  or   | kind | size | URL |
                   |  1   |  4 or 16   |  2   |                       |  1   |  1   |     |

Root is the realm's key, key and intermediates are the inviter's and make its hashname, the sum is
the beginning of SHA-256 of all before it: a URL that lost a character says so. All of it is in the
alphabet that QR codes write densest, in capital letters.
"""

from hashlib import sha256
from ipaddress import ip_address
from typing import Self

import msgspec

from rookery.errors import DecodeError, UsageError
from rookery.identity.hashname import hashname
from rookery.identity.realm import Realm
from rookery.wire import base32
from rookery.wire.link.path import NetPath, Path, UrlPath, parse_path
from rookery.wire.link.transport import RECORDED_KINDS, URL
from rookery.wire.link.uri import LinkAddress
from rookery.wire.mesh.certificate import CSID_40, check_name

PREFIX = "rookery:join/"
VERSION = 1
SECRET_SIZE = 16
PATHS_MAX = 8
URL_SIZE_MAX = 2048
LIFETIME_S = 3600

_ROOT_SIZE = 32
_KEY_SIZE = 64
_DIGEST_SIZE = 32
_SUM_SIZE = 4
_PATH_URL_SIZE_MAX = 255
_HTTP = len(RECORDED_KINDS)


class Invitation(msgspec.Struct, frozen=True):
    """The contents of the URL; its bearer may join, once."""

    realm: Realm
    secret: bytes
    expires_s: int
    key: bytes  # the inviter's, of cipher set 40
    intermediates: dict[int, bytes]
    paths: tuple[Path, ...]

    def __repr__(self) -> str:
        return f"Invitation({self.realm.name!r}, from {self.hashname[:8]})"

    @property
    def hashname(self) -> str:
        """The inviter's."""
        return hashname({CSID_40: self.key}, self.intermediates)

    @classmethod
    def of(cls, realm: Realm, secret: bytes, expires_s: int, inviter: LinkAddress) -> Self:
        """An invitation by the endpoint at `inviter`; UsageError when it cannot be used."""
        keys = dict(inviter.keys)
        key = keys.pop(CSID_40, None)
        if key is None or len(key) != _KEY_SIZE:
            raise UsageError("the inviter's link needs a key of cipher set 40")
        paths = [path for path in inviter.paths if _fits(path)][:PATHS_MAX]
        if not paths:
            raise UsageError("the inviter's link says nowhere to dial")
        digests = {csid: sha256(other).digest() for csid, other in keys.items()}
        return cls(realm, secret, expires_s, key, digests, tuple(paths))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a URL, in either case and with whatever line breaks it got; DecodeError."""
        if len(text) > URL_SIZE_MAX:
            raise DecodeError(f"an invitation of {len(text)} characters")
        url = "".join(text.split()).lower()
        if not url.startswith(PREFIX):
            raise DecodeError(f"an invitation begins with {PREFIX}")
        data = base32.decode(url.removeprefix(PREFIX))
        body, checksum = data[:-_SUM_SIZE], data[-_SUM_SIZE:]
        if checksum != _sum(body):
            raise DecodeError("the invitation was not copied whole")
        return cls._parse(_InvitationReader(body))

    @classmethod
    def _parse(cls, reader: "_InvitationReader") -> Self:
        version = reader.number(1)
        if version != VERSION:
            raise DecodeError(f"an invitation of version {version}")
        expires_s = reader.number(8)
        secret, root = reader.take(SECRET_SIZE), reader.take(_ROOT_SIZE)
        key = reader.take(_KEY_SIZE)
        name = reader.text(reader.number(1))
        check_name(name)
        intermediates = {
            reader.number(1): reader.take(_DIGEST_SIZE) for _ in range(reader.number(1))
        }
        paths = tuple(_read_path(reader) for _ in range(reader.number(1)))
        if reader.rest or not 0 < len(paths) <= PATHS_MAX:
            raise DecodeError("an invitation with too much or too little in it")
        invitation = cls(Realm(name, root), secret, expires_s, key, intermediates, paths)
        _ = invitation.hashname  # DecodeError now rather than when it is needed
        return invitation

    def url(self) -> str:
        name = self.realm.name.encode()
        parts = [
            bytes((VERSION,)),
            self.expires_s.to_bytes(8, "big"),
            self.secret,
            self.realm.root,
            self.key,
            bytes((len(name),)),
            name,
            bytes((len(self.intermediates),)),
            *(bytes((csid,)) + digest for csid, digest in sorted(self.intermediates.items())),
            bytes((len(self.paths),)),
            *map(_path_bytes, self.paths),
        ]
        body = b"".join(parts)
        return PREFIX + base32.encode(body + _sum(body))


class _InvitationReader:
    """Bytes taken from the front, as long as there are any."""

    def __init__(self, data: bytes) -> None:
        self.rest = data

    def take(self, size: int) -> bytes:
        if len(self.rest) < size:
            raise DecodeError("an invitation cut short")
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def text(self, size: int) -> str:
        try:
            return self.take(size).decode()
        except UnicodeDecodeError as error:
            raise DecodeError("text that is not UTF-8") from error


def _sum(body: bytes) -> bytes:
    return sha256(body).digest()[:_SUM_SIZE]


def _fits(path: Path) -> bool:
    if isinstance(path, UrlPath):
        return len(path.url.encode()) <= _PATH_URL_SIZE_MAX
    return isinstance(path, NetPath) and path.kind in RECORDED_KINDS


def _path_bytes(path: Path) -> bytes:
    if isinstance(path, UrlPath):
        url = path.url.encode()
        return bytes((_HTTP, len(url))) + url
    assert isinstance(path, NetPath)
    packed = ip_address(path.ip).packed
    return bytes((RECORDED_KINDS.index(path.kind),)) + packed + path.port.to_bytes(2, "big")


def _read_path(reader: _InvitationReader) -> Path:
    kind = reader.number(1)
    if kind == _HTTP:
        return parse_path({"type": URL, "url": reader.text(reader.number(1))})
    if kind > _HTTP:
        raise DecodeError(f"a path of unknown kind {kind}")
    name = RECORDED_KINDS[kind]
    ip = str(ip_address(reader.take(4 if name.endswith("4") else 16)))
    return parse_path({"type": name, "ip": ip, "port": reader.number(2)})
