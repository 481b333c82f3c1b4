"""The vectors of docs/protocol/realms.md: made without our code, and what our code makes."""

import runpy
from pathlib import Path

import msgspec
import pytest

from rookery.identity import signing
from rookery.identity.hashname import hashname
from rookery.identity.realm import Authority, Realm
from rookery.mesh.membership.invitation import Invitation
from rookery.mesh.membership.issued_invitations import secret_digest
from rookery.mesh.membership.join import JoinRequest
from rookery.mesh.membership.membership import Membership
from rookery.wire.link.path import NetPath
from rookery.wire.mesh.certificate import Certificate
from rookery.wire.mesh.statement import Statement

FOLDER = Path(__file__).parents[2] / "vectors"
PAGE = Path(__file__).parents[3] / "docs" / "protocol" / "realms.md"
FROM_S, UNTIL_S = 1_800_000_000, 1_831_536_000


class Root(msgspec.Struct):
    seed: str
    key: str
    id: str


class Party(msgspec.Struct):
    secret: str
    key: str
    intermediate_3a: str
    hashname: str

    @property
    def intermediates(self) -> dict[int, bytes]:
        return {0x3A: bytes.fromhex(self.intermediate_3a)}


class Vectors(msgspec.Struct):
    root: Root
    alice: Party
    bob: Party
    carol: Party
    certificate_of_issuer: str
    certificate_by_root: str
    certificate_by_issuer: str
    revocation_by_root: str
    revocation_by_issuer: str
    invitation_secret: str
    invitation_digest: str
    invitation: str
    join_body: str


VECTORS = msgspec.json.decode((FOLDER / "realm.json").read_bytes(), type=Vectors)
REALM = Realm("home", bytes.fromhex(VECTORS.root.key))
ROOT = Authority(REALM, bytes.fromhex(VECTORS.root.seed))
ISSUER = Authority(
    REALM,
    signing.signing_seed(bytes.fromhex(VECTORS.alice.secret)),
    bytes.fromhex(VECTORS.certificate_of_issuer),
)


def certified(by: Authority, who: Party, name: str, serial: int, *roles: str) -> str:
    return by.certify(
        bytes.fromhex(who.key),
        who.intermediates,
        name=name,
        roles=roles,
        serial=serial,
        from_s=FROM_S,
        until_s=UNTIL_S,
    ).hex()


def test_the_committed_vectors_are_what_the_script_makes() -> None:
    script = runpy.run_path(str(FOLDER / "make_realm.py"))
    assert msgspec.json.decode((FOLDER / "realm.json").read_bytes()) == script["make"]()


def test_the_page_shows_the_same_vectors() -> None:
    page = "".join(PAGE.read_text().split())
    for value in (VECTORS.root.key, VECTORS.root.id, VECTORS.bob.hashname, VECTORS.invitation):
        assert value in page
    assert VECTORS.certificate_by_root in page
    assert VECTORS.revocation_by_root in page


def test_our_statements_are_those_of_the_vectors() -> None:
    assert REALM.id.hex() == VECTORS.root.id
    alice, bob, carol = VECTORS.alice, VECTORS.bob, VECTORS.carol
    assert certified(ROOT, alice, "alice", 1, "relay", "issuer") == VECTORS.certificate_of_issuer
    assert certified(ROOT, bob, "bob", 2, "relay", "exit") == VECTORS.certificate_by_root
    assert certified(ISSUER, carol, "carol", 3) == VECTORS.certificate_by_issuer
    revoked = ROOT.revoke(bob.hashname, FROM_S + 60, 2)
    assert revoked.hex() == VECTORS.revocation_by_root
    assert ISSUER.revoke(carol.hashname, FROM_S + 60).hex() == VECTORS.revocation_by_issuer


@pytest.mark.parametrize("name", ["alice", "bob", "carol"])
def test_hashnames_are_those_of_the_vectors(name: str) -> None:
    party: Party = getattr(VECTORS, name)
    assert hashname({0x40: bytes.fromhex(party.key)}, party.intermediates) == party.hashname


def test_the_vectors_tell_a_story() -> None:
    group = Membership(REALM, bytes.fromhex(VECTORS.certificate_of_issuer))
    for data in (VECTORS.certificate_by_root, VECTORS.certificate_by_issuer):
        assert group.admit(bytes.fromhex(data), FROM_S)
    assert {member.name for member in group.members.values()} == {"alice", "bob", "carol"}
    for data in (VECTORS.revocation_by_root, VECTORS.revocation_by_issuer):
        assert group.admit(bytes.fromhex(data), FROM_S + 60)
    assert {member.name for member in group.members.values()} == {"alice"}


def test_the_invitation_is_that_of_the_vectors() -> None:
    invitation = Invitation.parse(VECTORS.invitation)
    assert invitation.url() == VECTORS.invitation
    assert invitation.realm == REALM
    assert invitation.hashname == VECTORS.alice.hashname
    assert invitation.expires_s == FROM_S + 3600
    assert invitation.paths == (
        NetPath("udp4", "192.0.2.1", 42424),
        NetPath("tcp4", "192.0.2.1", 42424),
    )
    assert invitation.secret.hex() == VECTORS.invitation_secret
    assert secret_digest(invitation.secret).hex() == VECTORS.invitation_digest


def test_the_request_is_that_of_the_vectors() -> None:
    head = {"v": 1, "secret": "", "name": "bob"}
    request = JoinRequest.parse(head, bytes.fromhex(VECTORS.join_body))
    request = msgspec.structs.replace(request, secret=bytes.fromhex(VECTORS.invitation_secret))
    request.check(REALM, VECTORS.bob.hashname)
    assert request.body().hex() == VECTORS.join_body
    content = Statement.parse(bytes.fromhex(VECTORS.certificate_by_root)).content
    assert Certificate.parse(content).key == request.key
