"""Revocation: the content of the statement that ends a membership before its time.

    | serial | at | expires | hashname | issuer      |
    |   8    | 8  |    8    |    32    | to the end  |

It ends every certificate of the hashname whose time began by `at`; a later one makes it a member
again. The serial is that of the certificate that gave cause, 0: none. Once `expires` has passed,
every certificate that it could end has expired, and it may be forgotten. `issuer` as in a
certificate.
"""

from struct import Struct as Layout
from typing import Self

import msgspec

from rookery.errors import DecodeError
from rookery.wire import base32
from rookery.wire.mesh.certificate import Certificate, check_lifetime, parse_issuer
from rookery.wire.mesh.node_id import NodeId, node_id

_DIGEST_SIZE = 32
_FIXED = Layout(">QQQ")
_ISSUER_AT = _FIXED.size + _DIGEST_SIZE


class Revocation(msgspec.Struct, frozen=True):
    """A revocation: the member's hashname and when its membership ended."""

    serial: int
    hashname: str
    at_s: int
    expires_s: int
    issuer: bytes = b""  # a certificate statement; empty when the root itself signed

    @property
    def node(self) -> NodeId:
        return node_id(self.hashname)

    def covers(self, certificate: Certificate) -> bool:
        """Whether it ends this certificate, if its signer may."""
        return certificate.hashname == self.hashname and certificate.not_before_s <= self.at_s

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """Read the content of a revocation statement, or raise DecodeError."""
        if len(content) < _ISSUER_AT:
            raise DecodeError("a revocation cut short")
        serial, at_s, expires_s = _FIXED.unpack_from(content)
        check_lifetime(at_s, expires_s)
        hashname = base32.encode(content[_FIXED.size : _ISSUER_AT])
        return cls(serial, hashname, at_s, expires_s, parse_issuer(content[_ISSUER_AT:]))

    def content(self) -> bytes:
        fixed = _FIXED.pack(self.serial, self.at_s, self.expires_s)
        return fixed + base32.decode(self.hashname) + self.issuer
