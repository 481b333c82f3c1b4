"""Realm: its root and issuers, and which certificates and revocations are valid.

The root key signs, or an issuer whose certificate the root signed:

    root ──▶ certificate                         root ──▶ revocation of anyone
    root ──▶ issuer's certificate ──▶ certificate,  revocation of what that issuer certified

An issuer's certificates stay within its own time and never make another issuer, so a stolen
issuer's key is contained by revoking that one certificate.
"""

import struct
from collections.abc import Iterable, Mapping
from hashlib import sha256

import msgspec

from rookery.errors import AuthenticationError, ProtocolError, RemoteError, UsageError
from rookery.identity import signing
from rookery.identity.hashname import hashname as hashname_of
from rookery.identity.signing import Verify
from rookery.wire.mesh import statement as kinds
from rookery.wire.mesh.certificate import CSID_40, ISSUER, LIFETIME_MAX_S, ROLE_BITS, Certificate
from rookery.wire.mesh.revocation import Revocation
from rookery.wire.mesh.statement import REALM_ID_SIZE, Statement, to_sign

CLOCK_SKEW_S = 300  # how far the clocks of members may differ


class Realm(msgspec.Struct, frozen=True):
    """A realm is its root key; the name is for people."""

    name: str
    root: bytes  # Ed25519

    @property
    def id(self) -> bytes:
        return realm_id(self.root)

    def check(
        self, statement: Statement, unix_s: float, verify: Verify = signing.verify
    ) -> Certificate | Revocation:
        """The statement's content, if it is valid now; RemoteError otherwise."""
        content = self.read(statement, verify)
        check_time(content, unix_s)
        return content

    def read(
        self, statement: Statement, verify: Verify = signing.verify
    ) -> Certificate | Revocation:
        """As `check`, without regard to the time."""
        if statement.realm != self.id:
            raise ProtocolError("a statement of another realm")
        content: Certificate | Revocation
        if statement.kind == kinds.CERTIFICATE:
            content = Certificate.parse(statement.content)
        elif statement.kind == kinds.REVOCATION:
            content = Revocation.parse(statement.content)
        else:
            raise ProtocolError("neither a certificate nor a revocation")
        signer = self.root
        if content.issuer:
            issuer = self.issuer(content.issuer, verify)
            _check_powers(issuer, content)
            signer = issuer.signing_key
        verify(signer, statement.signed, statement.signature)
        if isinstance(content, Certificate):
            _check_hashname(content)
        return content

    def issuer(self, data: bytes, verify: Verify = signing.verify) -> Certificate:
        """The certificate of an issuer appointed by the root, without regard to the time."""
        certificate = self.read(_rooted(data), verify)
        if not isinstance(certificate, Certificate) or ISSUER not in certificate.roles:
            raise ProtocolError("signed by a member that is no issuer")
        return certificate


class Authority:
    """Signs for a realm, with the seed of the root or of an issuer."""

    __slots__ = ("_seed", "issuer", "realm")

    def __init__(self, realm: Realm, seed: bytes, issuer: bytes = b"") -> None:
        """`issuer`: the certificate statement of the issuer with this seed; None for the root."""
        signer = realm.issuer(issuer).signing_key if issuer else realm.root
        if signing.public(seed) != signer:
            raise UsageError("this secret does not sign for the realm")
        self.realm = realm
        self.issuer = issuer
        self._seed = seed

    def __repr__(self) -> str:
        return f"Authority({self.realm.name!r})"

    def certify(
        self,
        key: bytes,
        intermediates: Mapping[int, bytes],
        *,
        name: str,
        roles: Iterable[str],
        serial: int,
        from_s: int,
        until_s: int,
    ) -> bytes:
        """The statement that makes the holder of `key`, of cipher set 40, a member."""
        roles = frozenset(roles)
        if unknown := roles - ROLE_BITS.keys():
            raise UsageError(f"no role is called {min(unknown)!r}, only {', '.join(ROLE_BITS)}")
        hashname = hashname_of({CSID_40: key}, intermediates)
        certificate = Certificate(
            serial, hashname, key, dict(intermediates), roles, name, from_s, until_s, self.issuer
        )
        return self._sign(kinds.CERTIFICATE, certificate)

    def revoke(self, hashname: str, at_s: int, serial: int = 0) -> bytes:
        """The statement that ends what `hashname` was certified until then."""
        revocation = Revocation(serial, hashname, at_s, at_s + LIFETIME_MAX_S, self.issuer)
        return self._sign(kinds.REVOCATION, revocation)

    def _sign(self, kind: int, said: Certificate | Revocation) -> bytes:
        try:
            content = said.content()
            signature = signing.sign(self._seed, to_sign(kind, self.realm.id, content))
            statement = Statement(kind, self.realm.id, content, signature)
            # What does not verify here would not verify anywhere.
            self.realm.read(statement)
        except (RemoteError, struct.error) as error:
            raise UsageError(f"the realm does not allow it: {error}") from error
        return statement.serialize()


def realm_id(root: bytes) -> bytes:
    return sha256(root).digest()[:REALM_ID_SIZE]


def check_time(content: Certificate | Revocation, unix_s: float) -> None:
    """ProtocolError unless it holds at this time, give or take what clocks differ."""
    if isinstance(content, Certificate):
        from_s, until_s = content.not_before_s, content.not_after_s
    else:
        from_s, until_s = content.at_s, content.expires_s
    if unix_s < from_s - CLOCK_SKEW_S:
        raise ProtocolError("a statement from the future")
    if unix_s >= until_s:
        raise ProtocolError("a statement whose time is over")


def issuer_of(content: Certificate | Revocation) -> Certificate | None:
    """The issuer that signed this valid statement; None for the root."""
    return Certificate.parse(Statement.parse(content.issuer).content) if content.issuer else None


def _rooted(data: bytes) -> Statement:
    """A certificate that no issuer signed: chains have one link."""
    statement = Statement.parse(data)
    if statement.kind != kinds.CERTIFICATE or Certificate.parse(statement.content).issuer:
        raise ProtocolError("signed by a member whose certificate is not the root's")
    return statement


def _check_powers(issuer: Certificate, content: Certificate | Revocation) -> None:
    if isinstance(content, Certificate):
        times = [content.not_before_s, content.not_after_s]
        if ISSUER in content.roles:
            raise ProtocolError("an issuer cannot make an issuer")
    else:
        times = [content.at_s]
    if not all(issuer.not_before_s <= at_s <= issuer.not_after_s for at_s in times):
        raise ProtocolError("signed outside of the issuer's own time")


def _check_hashname(certificate: Certificate) -> None:
    keys = {CSID_40: certificate.key}
    if hashname_of(keys, certificate.intermediates) != certificate.hashname:
        raise AuthenticationError("the hashname does not follow from the keys")
