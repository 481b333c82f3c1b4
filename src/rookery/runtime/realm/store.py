"""A realm's folder: what a member keeps of its realm, and more where the realm was founded.

realm.json         its name and root key
authority.key      the root's secret; only where the realm was founded
certificate.json   what makes us a member
statements.json    certificates and revocations we know of
invitations.json   those we gave out, without their secrets
epoch.json         how often we started
peers.json         links of members to dial first
link.json          our node's own link, for invitations
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, Self

import msgspec

from rookery.errors import DecodeError, RemoteError, UsageError
from rookery.identity import signing
from rookery.identity.identity import Identity
from rookery.identity.realm import Authority, Realm, issuer_of
from rookery.identity.signing import Verify
from rookery.mesh.membership.issued_invitations import IssuedInvitation, IssuedInvitations
from rookery.mesh.membership.membership import Membership
from rookery.runtime.realm import files
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.uri import LinkAddress
from rookery.wire.mesh.certificate import CSID_40, ISSUER, Certificate
from rookery.wire.mesh.revocation import Revocation
from rookery.wire.mesh.statement import CERTIFICATE, REVOCATION, Statement

EPOCH_MAX = 2**32 - 1

_REALM = "realm.json"
_AUTHORITY = "authority.key"
_CERTIFICATE = "certificate.json"
_STATEMENTS = "statements.json"
_INVITATIONS = "invitations.json"
_EPOCH = "epoch.json"
_PEERS = "peers.json"
_LINK = "link.json"


class _File(msgspec.Struct, forbid_unknown_fields=True):
    v: Literal[1]


class _RealmFile(_File):
    name: str
    root: bytes


class _AuthorityFile(_File):
    seed: bytes


class _CertificateFile(_File):
    certificate: bytes


class _StatementsFile(_File):
    statements: list[bytes]


class _InvitationsFile(_File):
    invitations: list[IssuedInvitation]


class _EpochFile(_File):
    epoch: int


class _PeersFile(_File):
    peers: list[JsonObject]


class RealmStore:
    """One folder; its files are read for each call, since other processes change them too."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        stored = files.read(folder / _REALM, _RealmFile)
        if stored is None:
            raise UsageError(
                f"no realm in {folder}; found one with: rookery realm init {folder}, "
                f"or join one with: rookery realm join URL --realm {folder}"
            )
        if len(stored.root) != signing.KEY_SIZE:
            raise UsageError(f"{folder / _REALM} is damaged: the root key has the wrong size")
        self.realm = Realm(stored.name, stored.root)
        self._seen: set[bytes] = set()
        self._looked: tuple[int, int, int] | None = None

    @classmethod
    def create(
        cls,
        folder: Path,
        realm: Realm,
        certificate: bytes,
        *,
        seed: bytes | None = None,
        peers: Iterable[LinkAddress] = (),
    ) -> Self:
        """A new folder; UsageError where there is one of a realm already."""
        if (folder / _REALM).exists():
            raise UsageError(f"{folder} holds a realm already; choose another folder")
        if seed is not None:
            files.write(folder / _AUTHORITY, _AuthorityFile(v=1, seed=seed))
        files.write(folder / _CERTIFICATE, _CertificateFile(v=1, certificate=certificate))
        files.write(folder / _STATEMENTS, _StatementsFile(v=1, statements=[certificate]))
        files.write(folder / _PEERS, _PeersFile(v=1, peers=[peer.json() for peer in peers]))
        # Last: a folder is a realm's once all of it is there.
        files.write(folder / _REALM, _RealmFile(v=1, name=realm.name, root=realm.root))
        return cls(folder)

    # --- this member ---

    @property
    def is_founded_here(self) -> bool:
        return (self.folder / _AUTHORITY).exists()

    def certificate(self) -> bytes:
        """Our own certificate."""
        stored = files.read(self.folder / _CERTIFICATE, _CertificateFile)
        if stored is None:
            raise UsageError(f"no certificate in {self.folder}; join once more")
        return stored.certificate

    def save_certificate(self, certificate: bytes) -> None:
        """Keep a younger certificate of ours, which the realm passed on to us."""
        files.write(self.folder / _CERTIFICATE, _CertificateFile(v=1, certificate=certificate))

    def authority(self, identity: Identity | None = None) -> Authority | None:
        """What signs for the realm here: its root key, or `identity` if that is an issuer."""
        stored = files.read(self.folder / _AUTHORITY, _AuthorityFile)
        if stored is not None:
            if len(stored.seed) != signing.SEED_SIZE:
                raise UsageError(f"{self.folder / _AUTHORITY} is damaged: it holds no seed")
            return Authority(self.realm, stored.seed)
        own = self.membership(time.time()).own
        if identity is None or ISSUER not in own.roles:
            return None
        if identity.hashname != own.hashname:
            raise UsageError(f"{identity.hashname[:8]} is not whom {self.folder} belongs to")
        seed = signing.signing_seed(identity.pairs[CSID_40].secret)
        return Authority(self.realm, seed, own.certificate)

    def next_epoch(self) -> int:
        """A number that no earlier start had; on disk before it is used.

        It is also never below the clock, so that a folder restored from a backup goes on upwards.
        """
        with self.locked():
            stored = files.read(self.folder / _EPOCH, _EpochFile)
            epoch = max(0 if stored is None else stored.epoch + 1, int(time.time()))
            if epoch > EPOCH_MAX:
                raise UsageError(f"{self.folder / _EPOCH} has no epoch left; is the clock right?")
            files.write(self.folder / _EPOCH, _EpochFile(v=1, epoch=epoch))
        return epoch

    # --- other members ---

    def membership(self, unix_s: float, verify: Verify = signing.verify) -> Membership:
        """The members known from the folder; expired and revoked ones are left out."""
        try:
            group = Membership(self.realm, self.certificate(), verify=verify)
        except RemoteError as error:
            raise UsageError(f"the certificate in {self.folder} is of no use: {error}") from error
        for data in self.statements():
            with suppress(RemoteError):
                group.admit(data, unix_s)
        return group

    def statements(self) -> list[bytes]:
        """All certificates and revocations, also of former members."""
        stored = files.read(self.folder / _STATEMENTS, _StatementsFile)
        return [] if stored is None else stored.statements

    def add_statements(self, statements: Iterable[bytes]) -> None:
        """Keep statements made here; `take_new_statements` hands them to the running node."""
        with self.locked():
            self._write_statements(statements)

    def remember(self, statements: Iterable[bytes]) -> None:
        """Keep statements received from the realm, for the next start."""
        kept = list(statements)
        self._seen.update(kept)
        self.add_statements(kept)

    def take_new_statements(self) -> list[bytes]:
        """What was added since the last call, all of it at first; cheap while nothing was."""
        try:
            status = (self.folder / _STATEMENTS).stat()
        except OSError:
            return []
        looked = status.st_mtime_ns, status.st_ino, status.st_size
        if looked == self._looked:
            return []
        self._looked = looked
        statements = self.statements()
        new = [data for data in statements if data not in self._seen]
        self._seen = set(statements)
        return new

    def _write_statements(self, more: Iterable[bytes]) -> None:
        known = self.statements()
        kept = _best([*known, *more], time.time())
        if kept != known:
            files.write(self.folder / _STATEMENTS, _StatementsFile(v=1, statements=kept))

    # --- invitations ---

    def invitations(self) -> IssuedInvitations:
        stored = files.read(self.folder / _INVITATIONS, _InvitationsFile)
        return IssuedInvitations(() if stored is None else stored.invitations)

    @contextmanager
    def changing_invitations(self) -> Iterator[IssuedInvitations]:
        """Changes made inside are saved, also after a refusal; the folder is locked meanwhile."""
        with self.locked():
            invitations = self.invitations()
            before = list(invitations)
            try:
                yield invitations
            except RemoteError:
                self._write_invitations(before, list(invitations))
                raise
            self._write_invitations(before, list(invitations))

    def _write_invitations(
        self, before: list[IssuedInvitation], after: list[IssuedInvitation]
    ) -> None:
        if before != after:
            stored = _InvitationsFile(v=1, invitations=after)
            files.write(self.folder / _INVITATIONS, stored)

    # --- addresses ---

    def peers(self) -> list[LinkAddress]:
        stored = files.read(self.folder / _PEERS, _PeersFile)
        return (
            [] if stored is None else [_link(self.folder / _PEERS, peer) for peer in stored.peers]
        )

    def link(self) -> LinkAddress | None:
        """The link address of our node, as last saved."""
        stored = files.read(self.folder / _LINK, _PeersFile)
        return _link(self.folder / _LINK, stored.peers[0]) if stored and stored.peers else None

    def save_link(self, link: LinkAddress) -> None:
        files.write(self.folder / _LINK, _PeersFile(v=1, peers=[link.json()]))

    @contextmanager
    def locked(self) -> Iterator[None]:
        with files.locked(self.folder):
            yield


def _best(statements: Iterable[bytes], unix_s: float) -> list[bytes]:
    """The latest statement of each signer on each hashname, unless it has expired."""
    best: dict[tuple[int, str, str], tuple[int, bytes]] = {}
    for data in statements:
        with suppress(RemoteError):
            content = _content(Statement.parse(data))
            if isinstance(content, Certificate):
                kind, from_s, until_s = CERTIFICATE, content.not_before_s, content.not_after_s
            else:
                kind, from_s, until_s = REVOCATION, content.at_s, content.expires_s
            issuer = issuer_of(content)
            key = kind, content.hashname, issuer.hashname if issuer else ""
            if unix_s < until_s:
                best[key] = max(best.get(key, (0, b"")), (from_s, data))
    return [data for _, data in best.values()]


def _content(statement: Statement) -> Certificate | Revocation:
    if statement.kind == REVOCATION:
        return Revocation.parse(statement.content)
    return Certificate.parse(statement.content)


def _link(file: Path, link: JsonObject) -> LinkAddress:
    try:
        return LinkAddress.of_json(link, is_own=True)
    except DecodeError as error:
        raise UsageError(f"{file} is damaged: {error}") from error
