"""A hostile member: a real node with real links, whose strings somebody else pulls."""

from collections.abc import Callable, Sequence

import msgspec

from rookery.identity import signing
from rookery.link.link import ROOKERY_CSID, Link
from rookery.mesh.records.publisher import Publisher
from rookery.sim.mesh.member import SimulatedMember
from rookery.sim.mesh.world import MeshWorld
from rookery.wire.link.frame_types import FORWARD
from rookery.wire.link.path import Arrival, NetPath, Path
from rookery.wire.mesh.flood import Statements
from rookery.wire.mesh.forward import Forward
from rookery.wire.mesh.node_id import NodeId
from rookery.wire.mesh.record import Record, RecordLink
from rookery.wire.mesh.statement import RECORD, Statement, to_sign

Lie = Callable[[Sequence[RecordLink]], Sequence[RecordLink]]


class Liar(Publisher):
    """Publishes what somebody makes of the truth."""

    lie: Lie
    sign: Callable[[Record], bytes]

    def update(
        self,
        links: Sequence[RecordLink],
        paths: Sequence[NetPath],
        now: float,
        unix_s: float,
    ) -> bytes | None:
        return super().update(self.lie(links), paths, now, unix_s)


class Puppet:
    """A member of the world, and everything that it could do but should not."""

    def __init__(self, world: MeshWorld, number: int) -> None:
        self.world = world
        self.node: SimulatedMember = world.members[number]
        self.seed = signing.signing_seed(self._secret)

    @property
    def _secret(self) -> bytes:
        return self.node.endpoint.identity.pairs[ROOKERY_CSID].secret

    @property
    def name(self) -> str:
        """As honest nodes call it when they refuse something."""
        return self.node.hashname[:8]

    @property
    def id(self) -> NodeId:
        return self.node.id

    # --- what it sends ---

    def send(self, target: int, head: bytes, body: bytes) -> None:
        """A frame over its own link, whatever is in it."""
        link = self.node.endpoint.links[self.world.members[target].hashname]
        link.send_frame(head, body)
        self.node.due()

    def say(self, target: int, *statements: bytes) -> None:
        self.send(target, *Statements(statements).serialize())

    def forward(self, target: int, frame: Forward) -> None:
        self.send(target, frame.head(), frame.body())

    def sign(self, record: Record) -> bytes:
        """In its own name, whatever the record says."""
        return self.signed(record.serialize())

    def signed(self, content: bytes) -> bytes:
        realm = self.world.realm.id
        signature = signing.sign(self.seed, to_sign(RECORD, realm, content))
        return Statement(RECORD, realm, content, signature).serialize()

    def record(self, *links: RecordLink, sequence_more: int = 1) -> Record:
        """Its next record, or one of a while ahead."""
        newest = self.node.core.database.records[self.id]
        return msgspec.structs.replace(
            newest,
            sequence=newest.sequence + sequence_more,
            made_s=int(self.node.unix_s),
            links=tuple(sorted(links, key=lambda link: link.peer)) or newest.links,
        )

    # --- what it becomes ---

    def claim(self, lie: Lie, kind: type[Liar] = Liar) -> None:
        """Publish lies about its links from now on."""
        core = self.node.core
        liar = kind(
            core.own,
            self._secret,
            epoch=core.publisher.epoch + 1,
            now=self.world.now,
            records=core.database.records,
        )
        liar.lie, liar.sign = lie, self.sign
        core.publisher = liar
        self.node.due()

    def swallow(self) -> None:
        """Relay nothing any more, and say nothing about it."""
        reader = self.node.endpoint.frame_reader
        assert reader is not None
        ours = self.id

        def read(
            link: Link,
            path: Path,
            head: bytes,
            body: bytes | memoryview,
            now: float,
            arrival: Arrival | None,
        ) -> None:
            if head[0] == FORWARD and Forward.parse(head, bytes(body)).route[-1] != ours:
                return
            reader(link, path, head, body, now, arrival)

        self.node.endpoint.frame_reader = read
