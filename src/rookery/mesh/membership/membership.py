"""Membership: who belongs to the realm now, by the certificates and revocations that were seen.

A certificate counts while its time lasts, unless the root or its issuer revoked it, or the root
revoked its issuer. The result does not depend on the order in which statements arrive, so all
members come to the same list. Of two certificates of one hashname the root's counts before an
issuer's, then the younger.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import msgspec

from rookery.errors import ProtocolError, UnreachableError
from rookery.identity import signing
from rookery.identity.realm import Realm, issuer_of
from rookery.identity.signing import Verify
from rookery.wire.mesh.certificate import RELAY, Certificate
from rookery.wire.mesh.node_id import NodeId, node_id
from rookery.wire.mesh.revocation import Revocation
from rookery.wire.mesh.statement import CERTIFICATE, Statement

MEMBERS_MAX = 4096
REVOCATIONS_MAX = 4096

_ROOT = ""  # as a signer; an issuer goes by its hashname


class Member(msgspec.Struct, frozen=True):
    """One member, as its certificate says."""

    node: NodeId
    hashname: str
    key: bytes  # of cipher set 40
    signing_key: bytes
    roles: frozenset[str]
    name: str
    certificate: bytes  # the whole statement
    not_after_s: int


class _Certified(msgspec.Struct, frozen=True):
    certificate: Certificate
    issuer: Certificate | None
    member: Member

    @property
    def signer(self) -> str:
        return _ROOT if self.issuer is None else self.issuer.hashname

    @property
    def rank(self) -> tuple[bool, int, int, bytes]:
        """The highest one of a hashname counts, the same one everywhere."""
        certificate = self.certificate
        by_root = self.issuer is None
        return by_root, certificate.not_before_s, certificate.serial, self.member.certificate


class _Revoked(msgspec.Struct, frozen=True):
    revocation: Revocation
    issuer: Certificate | None
    data: bytes

    @property
    def key(self) -> tuple[str, str]:
        signer = self.issuer.hashname if self.issuer else _ROOT
        return self.revocation.hashname, signer

    @property
    def rank(self) -> tuple[int, int, bytes]:
        return self.revocation.at_s, self.revocation.expires_s, self.data


class Membership:
    """The members of one realm; `own` is the statement that makes us one."""

    def __init__(
        self, realm: Realm, own: Statement | bytes, *, verify: Verify = signing.verify
    ) -> None:
        self.realm = realm
        self._verify = verify
        self._certified: dict[NodeId, _Certified] = {}
        self._members: dict[NodeId, Member] = {}
        # By subject and signer: a signer's later revocation replaces the earlier one.
        self._revoked: dict[tuple[str, str], _Revoked] = {}
        self._known: set[bytes] = set()
        self._ended: list[Member] = []
        statement = Statement.parse(own) if isinstance(own, bytes) else own
        content = realm.read(statement, verify)
        if not isinstance(content, Certificate):
            raise ProtocolError("a revocation makes nobody a member")
        self._own = _certified(content, statement.serialize())
        self._put(self._own)

    @property
    def own(self) -> Member:
        """Ourselves, by the best certificate seen; kept even when that has ended."""
        return self._own.member

    @property
    def members(self) -> Mapping[NodeId, Member]:
        """Those whose certificate held when last looked at, ourselves among them."""
        return MappingProxyType(self._members)

    @property
    def revoked(self) -> Mapping[str, Revocation]:
        """By hashname, the latest revocation that names it."""
        ordered = sorted(self._revoked.values(), key=lambda revoked: revoked.rank)
        return {revoked.revocation.hashname: revoked.revocation for revoked in ordered}

    def is_revoked(self, hashname: str) -> bool:
        """Whether a revocation names it and no certificate since makes it a member."""
        is_named = any(name == hashname for name, _ in self._revoked)
        return is_named and self.by_hashname(hashname) is None

    def member(self, node: NodeId) -> Member | None:
        return self._members.get(node)

    def may_relay(self, node: NodeId) -> bool:
        member = self._members.get(node)
        return member is not None and RELAY in member.roles

    def by_hashname(self, hashname: str) -> Member | None:
        member = self._members.get(node_id(hashname))
        return member if member is not None and member.hashname == hashname else None

    def named(self, hashname: str) -> Member:
        """The member of this hashname; UnreachableError says what it is instead."""
        member = self.by_hashname(hashname)
        if member is None:
            was = "was revoked from" if hashname in self.revoked else "is no member of"
            raise UnreachableError(f"{hashname[:8]} {was} {self.realm.name}")
        return member

    def statements(self) -> Iterator[bytes]:
        """All statements that a new member needs, revocations first."""
        yield from [revoked.data for revoked in self._revoked.values()]
        yield from [member.certificate for member in self._members.values()]

    def admit(self, data: bytes, unix_s: float) -> bool:
        """Take in a certificate or revocation; whether it was news. RemoteError: refused."""
        if data in self._known:
            return False
        content = self.realm.check(Statement.parse(data), unix_s, self._verify)
        if isinstance(content, Certificate):
            return self._admit_certificate(_certified(content, data))
        return self._admit_revocation(_Revoked(content, issuer_of(content), data))

    def prove(self, hashname: str, data: bytes, unix_s: float) -> Member:
        """The member behind a link to `hashname`, by the certificate that came over it."""
        statement = Statement.parse(data)
        if (
            statement.kind != CERTIFICATE
            or Certificate.parse(statement.content).hashname != hashname
        ):
            raise ProtocolError("not the certificate of the other end")
        self.admit(data, unix_s)
        member = self.by_hashname(hashname)
        assert member is not None  # `admit` raises unless it, or a better one, counts
        if unix_s >= member.not_after_s:
            raise ProtocolError("a statement whose time is over")
        return member

    def refresh(self, unix_s: float) -> list[Member]:
        """Let go of what is over; those whose membership ended since the last call."""
        for revoked in list(self._revoked.values()):
            if unix_s >= revoked.revocation.expires_s:
                self._forget(revoked)
        for member in list(self._members.values()):
            if unix_s >= member.not_after_s:
                self._end(member.node)
        ended, self._ended = self._ended, []
        return [member for member in ended if member.node not in self._members]

    def _admit_certificate(self, certified: _Certified) -> bool:
        if self._is_revoked(certified):
            raise ProtocolError("a revoked certificate")
        known = self._certified.get(certified.member.node)
        if known is None:
            if len(self._certified) >= MEMBERS_MAX:
                self._make_room_for(certified)
        elif known.member.hashname != certified.member.hashname:
            raise ProtocolError("another hashname with the node id of a member")
        elif certified.rank <= known.rank:
            return False
        self._put(certified)
        return True

    def _make_room_for(self, newcomer: _Certified) -> None:
        """Who took in the most gives one up, so that no issuer fills the realm with its own.

        The root's members stay, and so do we.
        """
        counts = Counter(one.signer for one in self._certified.values() if one.signer != _ROOT)
        greatest, count = max(counts.items(), key=lambda item: (item[1], item[0]), default=("", 0))
        own = 0 if newcomer.signer == _ROOT else counts[newcomer.signer] + 1
        ours = self._own.member.node
        given_up = next(
            (
                node
                for node, one in reversed(self._certified.items())
                if one.signer == greatest and node != ours
            ),
            None,
        )
        if count <= own or given_up is None:
            raise ProtocolError("the realm has too many members")
        self._end(given_up)

    def _put(self, certified: _Certified) -> None:
        node = certified.member.node
        if known := self._certified.get(node):
            self._known.discard(known.member.certificate)
        self._certified[node] = certified
        self._members[node] = certified.member
        self._known.add(certified.member.certificate)
        if node == self._own.member.node:
            self._own = certified

    def _admit_revocation(self, revoked: _Revoked) -> bool:
        if revoked.issuer is not None and self._root_revoked(revoked.issuer):
            raise ProtocolError("signed by a revoked issuer")
        known = self._revoked.get(revoked.key)
        if known is not None:
            if revoked.rank <= known.rank:
                return False
            self._forget(known)
        elif len(self._revoked) >= REVOCATIONS_MAX:
            self._make_room(revoked)
        self._revoked[revoked.key] = revoked
        self._known.add(revoked.data)
        if revoked.issuer is None:
            self._void(revoked.revocation)
        for node, certified in list(self._certified.items()):
            if self._is_revoked(certified):
                self._end(node)
        return True

    def _void(self, revocation: Revocation) -> None:
        """What an issuer revoked counts no more, once it is revoked itself."""
        for other in list(self._revoked.values()):
            if other.issuer is not None and revocation.covers(other.issuer):
                self._forget(other)

    def _make_room(self, revoked: _Revoked) -> None:
        """An issuer's revocations never keep out the root's."""
        others = (other for other in self._revoked.values() if other.issuer is not None)
        other = next(others, None)
        if revoked.issuer is not None or other is None:
            raise ProtocolError("too many revocations")
        self._forget(other)

    def _is_revoked(self, certified: _Certified) -> bool:
        certificate, issuer = certified.certificate, certified.issuer
        if self._root_revoked(certificate):
            return True
        if issuer is None:
            return False
        revoked = self._revoked.get((certificate.hashname, issuer.hashname))
        if revoked is not None and revoked.revocation.covers(certificate):
            return True
        return self._root_revoked(issuer)

    def _root_revoked(self, certificate: Certificate) -> bool:
        revoked = self._revoked.get((certificate.hashname, _ROOT))
        return revoked is not None and revoked.revocation.covers(certificate)

    def _forget(self, revoked: _Revoked) -> None:
        del self._revoked[revoked.key]
        self._known.discard(revoked.data)

    def _end(self, node: NodeId) -> None:
        certified = self._certified.pop(node)
        self._known.discard(certified.member.certificate)
        self._ended.append(self._members.pop(node))


def _certified(certificate: Certificate, data: bytes) -> _Certified:
    member = Member(
        certificate.node,
        certificate.hashname,
        certificate.key,
        certificate.signing_key,
        certificate.roles,
        certificate.name,
        data,
        certificate.not_after_s,
    )
    return _Certified(certificate, issuer_of(certificate), member)


_FIRST_PART = re.compile(r"([^-.]+)[-.]")


def site_of(name: str) -> str:
    """What stands before the first dash or dot of a name; empty when there is none."""
    found = _FIRST_PART.match(name)
    return "" if found is None else found[1]
