"""Join: how an endpoint redeems an invitation, over a `join` channel of a link to the inviter.

    joiner   {"type":"join","v":1,"secret":"<base32>","name":"…"}  proof ‖ key ‖ n × (csid ‖ digest)
    inviter  {"v":1,"link":{…}}                                    certificate statement

Key and digests make the joiner's hashname, which the link has proved, except for the signing half
of the key: that is what the proof is for, a signature. The inviter's link is how to reach it as a
member. A refusal is the channel's error, and says why.
"""

from typing import Self

import msgspec

from rookery.errors import AuthenticationError, DecodeError, ProtocolError
from rookery.identity import signing
from rookery.identity.hashname import hashname as hashname_of
from rookery.identity.identity import Identity
from rookery.identity.realm import Realm
from rookery.wire import base32
from rookery.wire.link.lob import JsonObject, integer, text
from rookery.wire.link.uri import LinkAddress
from rookery.wire.mesh.certificate import (
    CSID_40,
    INTERMEDIATES_MAX,
    KEY_SIZE,
    Certificate,
    check_name,
)
from rookery.wire.mesh.statement import SIGNATURE_SIZE, STATEMENT_SIZE_MAX, Statement

TYPE = "join"
VERSION = 1
SECRET_TEXT_MAX = 64
PROOF_LABEL = b"rookery join"

_DIGEST_SIZE = 32
_PART_SIZE = 1 + _DIGEST_SIZE
_PARTS_AT = SIGNATURE_SIZE + KEY_SIZE


class JoinRequest(msgspec.Struct, frozen=True):
    """A joiner's request and proof."""

    secret: bytes
    name: str
    key: bytes
    intermediates: dict[int, bytes]
    proof: bytes

    def __repr__(self) -> str:
        return f"JoinRequest({self.name!r})"

    @classmethod
    def of(cls, realm: Realm, secret: bytes, name: str, identity: Identity) -> Self:
        seed = signing.signing_seed(identity.pairs[CSID_40].secret)
        proof = signing.sign(seed, _proved(realm, secret, identity.hashname))
        others = dict(identity.intermediates(CSID_40))
        return cls(secret, name, identity.keys[CSID_40], others, proof)

    @classmethod
    def parse(cls, head: JsonObject, body: bytes) -> Self:
        """Read a request; `check` says whether it may be believed. DecodeError."""
        _check_version(head)
        secret, name = text(head, "secret"), text(head, "name")
        if secret is None or len(secret) > SECRET_TEXT_MAX or name is None:
            raise DecodeError("a request without a secret or a name")
        check_name(name)
        count, odd = divmod(len(body) - _PARTS_AT, _PART_SIZE)
        if odd or not 0 <= count <= INTERMEDIATES_MAX:
            raise DecodeError("a request without keys")
        parts = (body[at : at + _PART_SIZE] for at in range(_PARTS_AT, len(body), _PART_SIZE))
        return cls(
            base32.decode(secret),
            name,
            body[SIGNATURE_SIZE:_PARTS_AT],
            {part[0]: part[1:] for part in parts},
            body[:SIGNATURE_SIZE],
        )

    def check(self, realm: Realm, hashname: str) -> None:
        """Whether it came from `hashname`, whose link it came over; AuthenticationError."""
        if hashname_of({CSID_40: self.key}, self.intermediates) != hashname:
            raise AuthenticationError("these are not the keys of the link's other end")
        key = signing.signing_key(self.key)
        signing.verify(key, _proved(realm, self.secret, hashname), self.proof)

    def head(self) -> JsonObject:
        return {"v": VERSION, "secret": base32.encode(self.secret), "name": self.name}

    def body(self) -> bytes:
        parts = (bytes((csid,)) + part for csid, part in sorted(self.intermediates.items()))
        return self.proof + self.key + b"".join(parts)


class JoinAnswer(msgspec.Struct, frozen=True):
    """The certificate for the joiner, and the inviter's link."""

    certificate: bytes
    link: LinkAddress

    @classmethod
    def parse(cls, head: JsonObject, body: bytes) -> Self:
        _check_version(head)
        link = head.get("link")
        if not isinstance(link, dict) or len(body) > STATEMENT_SIZE_MAX:
            raise DecodeError("an answer without a link or a certificate")
        return cls(body, LinkAddress.of_json(link))

    def head(self) -> JsonObject:
        return {"v": VERSION, "link": self.link.json()}

    def check(self, realm: Realm, hashname: str, unix_s: float) -> Certificate:
        """Whether it makes `hashname` a member of the realm we were invited to; RemoteError."""
        certificate = realm.check(Statement.parse(self.certificate), unix_s)
        if not isinstance(certificate, Certificate) or certificate.hashname != hashname:
            raise ProtocolError("the inviter answered with what makes us no member")
        return certificate


def _proved(realm: Realm, secret: bytes, hashname: str) -> bytes:
    return PROOF_LABEL + realm.id + base32.decode(hashname) + secret


def _check_version(head: JsonObject) -> None:
    if integer(head, "v") != VERSION:
        raise ProtocolError(f"only version {VERSION} of joining is known here")
