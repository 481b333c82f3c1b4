"""Acts in a realm's name, with its root key or an issuer's: found, invite, certify, revoke."""

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from rookery.errors import DecodeError, DeniedError, UsageError
from rookery.identity import signing
from rookery.identity.identity import Identity
from rookery.identity.realm import Authority, Realm, issuer_of
from rookery.mesh.membership.invitation import LIFETIME_S, SECRET_SIZE, Invitation
from rookery.mesh.membership.issued_invitations import IssuedInvitation, secret_digest
from rookery.mesh.membership.membership import Member
from rookery.runtime.realm.store import RealmStore
from rookery.wire.link.uri import LinkAddress
from rookery.wire.mesh.certificate import (
    CSID_40,
    ISSUER,
    LIFETIME_MAX_S,
    RELAY,
    ROLE_BITS,
    Certificate,
    check_name,
)
from rookery.wire.mesh.revocation import Revocation
from rookery.wire.mesh.statement import Statement

MEMBER_S = 365 * 86_400
INVITATION_S_MAX = 30 * 86_400

_SERIAL_SIZE = 8


def found(
    folder: Path,
    name: str,
    identity: Identity,
    *,
    member_name: str,
    roles: Iterable[str] = (RELAY,),
    member_s: int = MEMBER_S,
) -> RealmStore:
    """A new realm in a new folder, with `identity` as its first member."""
    if CSID_40 not in identity.keys:
        raise UsageError("a member needs keys of cipher set 40; make some with: rookery id new DIR")
    seed = os.urandom(signing.SEED_SIZE)
    _check_name(name)
    authority = Authority(Realm(name, signing.public(seed)), seed)
    now_s = int(time.time())
    certificate = authority.certify(
        identity.keys[CSID_40],
        identity.intermediates(CSID_40),
        name=member_name,
        roles=roles,
        serial=_serial(),
        from_s=now_s,
        until_s=now_s + member_s,
    )
    return RealmStore.create(folder, authority.realm, certificate, seed=seed)


class RealmAuthority:
    """Signs for the realm of a folder; UsageError if the folder has no key for that."""

    def __init__(self, store: RealmStore, identity: Identity | None = None) -> None:
        authority = store.authority(identity)
        if authority is None:
            raise UsageError(
                f"nothing in {store.folder} signs for the realm: do this where it was founded, "
                "or with --id and the keys of an issuer"
            )
        self.store = store
        self._authority = authority

    def invite(
        self,
        link: LinkAddress,
        *,
        roles: Iterable[str] = (),
        name: str = "",
        lifetime_s: int = LIFETIME_S,
        member_s: int = MEMBER_S,
    ) -> tuple[IssuedInvitation, Invitation]:
        """An invitation to give away; only the second of the two holds its secret."""
        roles = frozenset(roles)
        if unknown := roles - ROLE_BITS.keys():
            raise UsageError(f"no role is called {min(unknown)!r}, only {', '.join(ROLE_BITS)}")
        if not 0 < lifetime_s <= INVITATION_S_MAX:
            raise UsageError("an invitation lasts for 30 days at most")
        if not 0 < member_s <= LIFETIME_MAX_S:
            raise UsageError(f"a membership lasts for {LIFETIME_MAX_S // 86_400} days at most")
        if name:
            _check_name(name)
        now_s = int(time.time())
        secret = os.urandom(SECRET_SIZE)
        invitation = Invitation.of(self.store.realm, secret, now_s + lifetime_s, link)
        digest = secret_digest(secret)
        # Those whose membership was revoked until then cannot use it, in this very second either.
        revoked = self.store.membership(now_s, _trust).revoked.values()
        made_s = max([now_s, *(one.at_s + 1 for one in revoked if one.at_s <= now_s)])
        invited = IssuedInvitation(digest, roles, name, made_s, now_s + lifetime_s, member_s)
        with self.store.changing_invitations() as invitations:
            invitations.add(invited, now_s)
        return invited, invitation

    def certify(
        self,
        key: bytes,
        intermediates: Mapping[int, bytes],
        *,
        hashname: str,
        name: str,
        roles: Iterable[str],
        member_s: int = MEMBER_S,
        after: Certificate | None = None,
    ) -> bytes:
        """A certificate from now on, to outrank `after`; it is the caller's to keep or send."""
        from_s, serial = int(time.time()), _serial()
        if after is not None:  # also one of this very second
            from_s, serial = max(from_s, after.not_before_s), after.serial + 1
        until_s = from_s + member_s
        revocation = self.store.membership(from_s, _trust).revoked.get(hashname)
        if revocation is not None:
            from_s = max(from_s, revocation.at_s + 1)  # or the revocation would end this one too
        if self._authority.issuer:
            issuer = Certificate.parse(Statement.parse(self._authority.issuer).content)
            until_s = min(until_s, issuer.not_after_s)
        return self._authority.certify(
            key,
            intermediates,
            name=name,
            roles=roles,
            serial=serial,
            from_s=from_s,
            until_s=until_s,
        )

    def renew(
        self, member: Member, roles: Iterable[str] | None = None, member_s: int = MEMBER_S
    ) -> bytes:
        """A younger certificate for a member, perhaps with other roles, for the realm to learn.

        Who is no issuer any more could go on with the old certificate, so that is revoked; those
        whom it took in stay, by certificates of ours.
        """
        self._check_power(member)
        old = _certificate(member)
        roles = old.roles if roles is None else frozenset(roles)
        if ISSUER in old.roles - roles:
            self._take_over(old.hashname)
            self.revoke(old.hashname)
        certificate = self.certify(
            old.key,
            old.intermediates,
            hashname=old.hashname,
            name=old.name,
            roles=roles,
            member_s=member_s,
            after=old,
        )
        self.store.add_statements([certificate])
        if member.hashname == self.store.membership(time.time()).own.hashname:
            self.store.save_certificate(certificate)
        return certificate

    def _take_over(self, issuer: str) -> None:
        """Certify the members that an issuer admitted, with the same roles and times."""
        now_s = int(time.time())
        for member in list(self.store.membership(now_s).members.values()):
            old = _certificate(member)
            by = issuer_of(old)
            if by is not None and by.hashname == issuer:
                self.renew(member, member_s=old.not_after_s - max(now_s, old.not_before_s))

    def revoke(self, hashname: str) -> Revocation:
        """End a membership, for the realm to learn; also one that is not known here yet."""
        member = self.store.membership(time.time()).by_hashname(hashname)
        if member is not None:
            self._check_power(member)
        data = self._authority.revoke(hashname, int(time.time()))
        self.store.add_statements([data])
        return Revocation.parse(Statement.parse(data).content)

    def _check_power(self, member: Member) -> None:
        """An issuer may only renew and revoke members that it admitted."""
        if not self._authority.issuer:
            return
        own = Certificate.parse(Statement.parse(self._authority.issuer).content)
        issuer = issuer_of(_certificate(member))
        if issuer is None or issuer.hashname != own.hashname:
            raise DeniedError(
                f"an issuer decides only of those it took in, and {member.name} is not one of "
                "them; do this where the realm was founded"
            )


def _certificate(member: Member) -> Certificate:
    return Certificate.parse(Statement.parse(member.certificate).content)


def _trust(key: bytes, message: bytes, signature: bytes) -> None:
    """Our own folder needs no proof, of what only concerns the times of a certificate."""


def _serial() -> int:
    """In the lower half, so that there is room for those of renewed certificates."""
    return int.from_bytes(os.urandom(_SERIAL_SIZE), "big") >> 1


def _check_name(name: str) -> None:
    try:
        check_name(name)
    except DecodeError as error:
        raise UsageError(str(error)) from error
