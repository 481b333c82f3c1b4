"""Certificate: the content of the statement that makes an endpoint a member of a realm.

    | serial | not before | not after | roles | name size | name | hashname | key |
    |   8    |     8      |     8     |   2   |     1     |  n   |    32    | 64  |

    | count | count × (csid | intermediate) | issuer      |
    |   1   |          (  1  |      32     ) | to the end |

Integers big-endian, times in Unix seconds. The key is the member's of cipher set 40, whose second
half verifies its signatures; the intermediates are those of its other keys, lowest CSID first, so
that the whole hashname can be checked (one layer up). No issuer: signed by the realm's root key;
otherwise the issuer's own certificate, a whole statement that the root signed.
"""

from collections.abc import Iterable
from struct import Struct as Layout
from typing import Self

import msgspec

from rookery.errors import DecodeError
from rookery.wire import base32
from rookery.wire.mesh.node_id import NodeId, node_id
from rookery.wire.mesh.statement import STATEMENT_SIZE_MAX

RELAY = "relay"  # may stand in the middle of a route
EXIT = "exit"  # opens connections to the outside for other members
HUB = "hub"  # holds the realm's directory
SERVER = "server"
ISSUER = "issuer"  # may sign certificates, and revoke those it signed
ROLE_BITS = {RELAY: 1, EXIT: 2, HUB: 4, SERVER: 8, ISSUER: 16}

CSID_40 = 0x40
KEY_SIZE = 64
SIGNING_KEY_SIZE = 32
NAME_LENGTH_MAX = 32  # characters
INTERMEDIATES_MAX = 7
ISSUER_SIZE_MAX = STATEMENT_SIZE_MAX // 2
LIFETIME_MAX_S = 3660 * 86_400

_DIGEST_SIZE = 32
_INTERMEDIATE_SIZE = 1 + _DIGEST_SIZE
_FIXED = Layout(">QQQHB")


class Certificate(msgspec.Struct, frozen=True):
    """A membership: name, roles and validity period of a member."""

    serial: int
    hashname: str
    key: bytes
    intermediates: dict[int, bytes]
    roles: frozenset[str]
    name: str
    not_before_s: int
    not_after_s: int
    issuer: bytes = b""  # a certificate statement; empty when the root itself signed

    @property
    def node(self) -> NodeId:
        return node_id(self.hashname)

    @property
    def signing_key(self) -> bytes:
        return self.key[-SIGNING_KEY_SIZE:]

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """Read the content of a certificate statement, or raise DecodeError."""
        if len(content) < _FIXED.size:
            raise DecodeError("a certificate cut short")
        serial, not_before_s, not_after_s, bits, name_size = _FIXED.unpack_from(content)
        name_end = _FIXED.size + name_size
        key_at = name_end + _DIGEST_SIZE
        count_at = key_at + KEY_SIZE
        if len(content) <= count_at:
            raise DecodeError("a certificate cut short")
        issuer_at = count_at + 1 + content[count_at] * _INTERMEDIATE_SIZE
        if len(content) < issuer_at:
            raise DecodeError("a certificate cut short")
        check_lifetime(not_before_s, not_after_s)
        return cls(
            serial,
            base32.encode(content[name_end:key_at]),
            content[key_at:count_at],
            _intermediates(content[count_at + 1 : issuer_at]),
            roles_of(bits),
            _name(content[_FIXED.size : name_end]),
            not_before_s,
            not_after_s,
            parse_issuer(content[issuer_at:]),
        )

    def content(self) -> bytes:
        check_name(self.name)
        name = self.name.encode()
        parts = [
            _FIXED.pack(
                self.serial, self.not_before_s, self.not_after_s, role_bits(self.roles), len(name)
            ),
            name,
            base32.decode(self.hashname),
            self.key,
            bytes((len(self.intermediates),)),
        ]
        parts += (bytes((csid,)) + part for csid, part in sorted(self.intermediates.items()))
        return b"".join(parts) + self.issuer


def role_bits(roles: Iterable[str]) -> int:
    """Roles as in certificates and records; a role must be a known one."""
    return sum(ROLE_BITS[role] for role in set(roles))


def roles_of(bits: int) -> frozenset[str]:
    """The known roles among these bits: what a later version adds gives no right here."""
    return frozenset(role for role, bit in ROLE_BITS.items() if bits & bit)


def check_lifetime(from_s: int, until_s: int) -> None:
    if not from_s < until_s <= from_s + LIFETIME_MAX_S:
        raise DecodeError("a lifetime that is empty or too long")


def check_name(name: str) -> None:
    """A name is shown to people, so that nothing in it may be invisible or move a cursor."""
    if not 0 < len(name) <= NAME_LENGTH_MAX:
        raise DecodeError(f"a name has 1 to {NAME_LENGTH_MAX} characters")
    if not name.isprintable() or name != name.strip():
        raise DecodeError("a name with characters that cannot be seen")


def parse_issuer(data: bytes) -> bytes:
    if len(data) > ISSUER_SIZE_MAX:
        raise DecodeError(f"an issuer of {len(data)} bytes")
    return data


def _name(data: bytes) -> str:
    try:
        name = data.decode()
    except UnicodeDecodeError as error:
        raise DecodeError("a name that is not UTF-8") from error
    check_name(name)
    return name


def _intermediates(data: bytes) -> dict[int, bytes]:
    items = [
        (data[at], data[at + 1 : at + _INTERMEDIATE_SIZE])
        for at in range(0, len(data), _INTERMEDIATE_SIZE)
    ]
    csids = [csid for csid, _ in items]
    if len(items) > INTERMEDIATES_MAX or csids != sorted(set(csids) - {0, CSID_40}):
        raise DecodeError("intermediates that are too many, out of order or of cipher set 40")
    return dict(items)
