"""Members who sign records, for whoever needs some."""

from functools import lru_cache

import msgspec

from rookery.identity import signing
from rookery.identity.identity import Identity
from rookery.mesh.membership.membership import Membership
from rookery.wire.mesh.node_id import NodeId, node_id
from rookery.wire.mesh.record import Record, RecordLink
from rookery.wire.mesh.statement import RECORD, Statement, to_sign
from tests.mesh import realms
from tests.mesh.realms import NOW_S, REALM


class Scribe(msgspec.Struct, frozen=True):
    """A member and its secrets."""

    identity: Identity
    certificate: bytes

    @property
    def node(self) -> NodeId:
        return node_id(self.identity.hashname)

    @property
    def seed(self) -> bytes:
        return signing.signing_seed(self.identity.pairs[0x40].secret)

    def sign(self, content: bytes, realm: bytes = REALM.id) -> bytes:
        signature = signing.sign(self.seed, to_sign(RECORD, realm, content))
        return Statement(RECORD, realm, content, signature).serialize()

    def record(
        self,
        sequence: int = 1,
        *links: RecordLink,
        epoch: int = 1,
        made_s: int = NOW_S,
        lifetime_s: int = 7200,
    ) -> Record:
        ordered = tuple(sorted(links, key=lambda link: link.peer))
        return Record(self.node, epoch, sequence, made_s, lifetime_s, links=ordered)

    def says(self, sequence: int = 1, *links: RecordLink, epoch: int = 1) -> bytes:
        return self.sign(self.record(sequence, *links, epoch=epoch).serialize())


@lru_cache(1024)
def scribe(name: str) -> Scribe:
    identity = realms.identity(name)
    return Scribe(identity, realms.certify(identity, name, ["relay"]))


def membership(own: Scribe, *others: Scribe) -> Membership:
    members = Membership(REALM, own.certificate)
    for other in others:
        members.admit(other.certificate, NOW_S)
    return members
