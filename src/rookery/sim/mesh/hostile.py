"""Hostile members: what a member of the simulated realm does to harm others, one thing each.

    node = world.members[7]
    claim_cheap_links(world, node)                its record says that its links cost nothing
    claim_long_holding(node.endpoint, node.core)  it says to have held each ping almost all the time
    swallow(node, everything)                     relays nothing, and answers for itself
    swallow(node, at_random(0.2, Random(seed)))   … or drops a share, or what is large, or one's
    Replayer(world, node)                         repeats what it received
    Flooder(world, node, Random(seed))            floods its neighbours
    Sybils(world, node, 40, Random(seed))         takes in members that are all itself

They combine, and are the same for the same seed. Everything else of the node stays honest: its
links work, its pings and echoes are answered.
"""

from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from typing import Final

import msgspec

from rookery.identity import signing
from rookery.identity.identity import Identity
from rookery.identity.realm import Authority
from rookery.link.endpoint import Endpoint
from rookery.link.link import ROOKERY_CSID, Link
from rookery.mesh.node import Node
from rookery.mesh.records.publisher import Publisher
from rookery.sim.endpoint import EPOCH_UNIX_S
from rookery.sim.mesh.member import SimulatedMember
from rookery.sim.mesh.world import MeshWorld
from rookery.wire.link.frame_types import FORWARD, PING, STATEMENTS
from rookery.wire.link.path import Arrival, NetPath, Path
from rookery.wire.mesh.certificate import role_bits
from rookery.wire.mesh.echo import EchoRequest
from rookery.wire.mesh.flood import RootDigest, Statements
from rookery.wire.mesh.forward import Forward, ForwardKind
from rookery.wire.mesh.node_id import NodeId, node_id
from rookery.wire.mesh.ping import Ping, Pong
from rookery.wire.mesh.probe import Probe
from rookery.wire.mesh.record import Record, RecordLink
from rookery.wire.mesh.statement import RECORD, Statement, to_sign

HOLDING_SHARE: Final = 0.95  # of the round trip, that a liar claims to have held each ping
TURN_S: Final = 0.1  # how often those that send something of their own do so

FrameFilter = Callable[
    [Link, Path, bytes, bytes, float], bool
]  # whether the node is to hear of a frame
DropRule = Callable[[Forward], bool]
Lie = Callable[[Sequence[RecordLink]], Sequence[RecordLink]]


# --- lies about links ---


class LyingPublisher(Publisher):
    """Signs what a lie makes of the truth."""

    lie: Lie

    def update(
        self,
        links: Sequence[RecordLink],
        paths: Sequence[NetPath],
        now: float,
        unix_s: float,
    ) -> bytes | None:
        return super().update(self.lie(links), paths, now, unix_s)


def claim_links(world: MeshWorld, node: SimulatedMember, lie: Lie) -> None:
    """Publish a lie from now on."""
    core = node.core
    liar = LyingPublisher(
        core.own,
        node.endpoint.identity.pairs[ROOKERY_CSID].secret,
        epoch=core.publisher.epoch + 1,
        now=world.now,
        records=core.database.records,
        services=core.publisher.services,
    )
    liar.lie = lie
    core.publisher = liar
    node.due()


def claim_cheap_links(world: MeshWorld, node: SimulatedMember) -> None:
    """Claims that all its links cost a microsecond, lose nothing and have the highest rate."""
    claim_links(world, node, lambda links: [RecordLink(link.peer, 0, 1, 0, 0xFF) for link in links])


def claim_long_holding(endpoint: Endpoint, core: Node) -> None:
    """Answers pings at once, and claims to have held each for nearly the whole round trip."""

    def hears(link: Link, path: Path, head: bytes, body: bytes, now: float) -> bool:
        if head[0] != PING:
            return True
        neighbour = core.neighbourhood.get(link.hashname)
        ping = Ping.parse(head, body)
        monitors = [] if neighbour is None else [*neighbour.monitors()]
        for monitor in monitors:
            if monitor.path == path and (answer := monitor.ping_received(ping, now)) is not None:
                pong = Pong.parse(*answer)
                holding_us = int(1e6 * HOLDING_SHARE * (monitor.quality.srtt_s or 0.0))
                lie = msgspec.structs.replace(pong, sent_us=pong.received_us + holding_us)
                link.send_frame(*lie.serialize(), path)
        return not monitors

    _overhear(endpoint, hears)


# --- relays that drop ---


def drop_transit(node: SimulatedMember, drops: DropRule) -> None:
    """Take what others would have relayed, and drop some of it without a word."""

    def hears(link: Link, path: Path, head: bytes, body: bytes, now: float) -> bool:
        if head[0] != FORWARD:
            return True
        frame = Forward.parse(head, body)
        return node.id in (frame.route[0], frame.route[-1]) or not drops(frame)

    _overhear(node.endpoint, hears)


def every_packet(_: Forward) -> bool:
    """A black hole."""
    return True


def at_random(share: float, random: Random) -> DropRule:
    return lambda _: random.random() < share


def larger_than(size: int) -> DropRule:
    return lambda frame: len(frame.payload) > size


def to_or_from(node: NodeId) -> DropRule:
    """What one member sends or is sent."""
    return lambda frame: node in (frame.route[0], frame.route[-1])


def all_but_handshakes(frame: Forward) -> bool:
    """So that links seem to work: their handshakes have a head, sealed packets have none."""
    return frame.kind is ForwardKind.PACKET and bytes(frame.payload[:2]) == b"\0\0"


# --- replay and floods ---


class Replayer:
    """Sends what it relays twice more, and repeats statements that it received."""

    STATEMENTS_MAX = 64
    COPIES = 2

    def __init__(self, world: MeshWorld, node: SimulatedMember) -> None:
        self.replayed = 0
        self._world, self._node = world, node
        self._overheard: deque[bytes] = deque(maxlen=self.STATEMENTS_MAX)
        _overhear(node.endpoint, self._hears)
        _every(world, self._repeat)

    def _hears(self, link: Link, path: Path, head: bytes, body: bytes, now: float) -> bool:
        if head[0] == FORWARD and Forward.parse(head, body).route[-1] != self._node.id:
            for _ in range(self.COPIES):
                self.replayed += 1
                self._node.core.frame_received(link, path, head, body, now)
        elif head[0] == STATEMENTS:
            self._overheard.append(body)
        return True

    def _repeat(self) -> None:
        for link in _neighbour_links(self._node):
            for body in list(self._overheard)[:8]:
                self.replayed += 1
                link.send_frame(bytes((STATEMENTS,)), body)
        self._node.due()


class Flooder:
    """250 frames a second to each neighbour: records, forgeries, questions, packets."""

    EACH = 5  # of each kind and turn

    def __init__(self, world: MeshWorld, node: SimulatedMember, random: Random) -> None:
        self._random = random
        self._node = node
        self._count = 0
        _every(world, self._flood)

    def _flood(self) -> None:
        node, random = self._node, self._random
        truth = node.core.database.records.get(node.id)
        for link in _neighbour_links(node):
            peer = node_id(link.hashname)
            for _ in range(self.EACH):
                self._count += 1
                nowhere = random.randbytes(8)
                echo = EchoRequest(random.randbytes(8)).serialize()
                head, body = Probe(random.randbytes(8)).serialize()
                for frame in (
                    Forward((node.id, peer, nowhere), random.randbytes(200)),
                    Forward((node.id, peer), echo, ForwardKind.ECHO_REQUEST),
                ):
                    link.send_frame(frame.head(), frame.body())
                link.send_frame(*RootDigest(self._count).serialize())
                link.send_frame(head, body)
                if truth is not None:
                    lies = msgspec.structs.replace(truth, sequence=truth.sequence + self._count)
                    signed = _signed(node.endpoint.identity, node.core.membership.realm.id, lies)
                    link.send_frame(*Statements((signed,)).serialize())
        node.due()


# --- names ---


class Sybils:
    """Members that an issuer takes in, all of them itself, with links to it and to each other.

    Each claims links with the issuer's neighbours, too, and the name and roles that it likes.
    """

    EACH = 2  # sent each turn

    def __init__(
        self,
        world: MeshWorld,
        node: SimulatedMember,
        count: int,
        random: Random,
        name: str = "sybil",
    ) -> None:
        self._world, self._node = world, node
        world.names_more += count
        secret = node.endpoint.identity.pairs[ROOKERY_CSID].secret
        self._authority = Authority(
            world.realm, signing.signing_seed(secret), node.core.own.certificate
        )
        identities = [Identity.generate((0x40,), random.randbytes) for _ in range(count)]
        self.ids = [node_id(one.hashname) for one in identities]
        near = [node.id, *node.core.neighbours]
        self._unsent = [
            (self._certificate(one, name), self._record(one, [*near, *self.ids[:20]]))
            for one in identities
        ]
        claim_links(
            world,
            node,
            lambda links: [*links, *(RecordLink(one, 0, 1) for one in self.ids[:20])],
        )
        _every(world, self._send_next)

    def _send_next(self) -> None:
        batch, self._unsent = self._unsent[: self.EACH], self._unsent[self.EACH :]
        for link in _neighbour_links(self._node):
            for statements in batch:
                link.send_frame(*Statements(statements).serialize())
        self._node.due()

    def _certificate(self, identity: Identity, name: str) -> bytes:
        now_s = int(EPOCH_UNIX_S + self._world.now)
        return self._authority.certify(
            identity.keys[0x40],
            identity.intermediates(0x40),
            name=name,
            roles=("relay", "exit"),
            serial=1,
            from_s=now_s - 60,
            until_s=now_s + 86_400,
        )

    def _record(self, identity: Identity, peers: Sequence[NodeId]) -> bytes:
        own, now_s = node_id(identity.hashname), int(EPOCH_UNIX_S + self._world.now)
        links = tuple(RecordLink(peer, 0, 1) for peer in sorted({*peers} - {own}))
        record = Record(own, 1, 1, now_s, 3600, role_bits(["relay", "exit"]), links=links)
        return _signed(identity, self._world.realm.id, record)


# --- inside ---


def _overhear(endpoint: Endpoint, hears: FrameFilter) -> None:
    """Have each frame pass here first."""
    reader = endpoint.frame_reader
    assert reader is not None

    def read(
        link: Link,
        path: Path,
        head: bytes,
        body: bytes | memoryview,
        now: float,
        arrival: Arrival | None,
    ) -> None:
        if hears(link, path, head, bytes(body), now):
            reader(link, path, head, body, now, arrival)

    endpoint.frame_reader = read


def _every(world: MeshWorld, act: Callable[[], None]) -> None:
    def again() -> None:
        act()
        world.at(world.now + TURN_S, again)

    world.at(world.now + TURN_S, again)


def _neighbour_links(node: SimulatedMember) -> list[Link]:
    links = node.endpoint.links
    names = [neighbour.member.hashname for neighbour in node.core.neighbours.values()]
    return [links[name] for name in names if name in links]


def _signed(identity: Identity, realm: bytes, record: Record) -> bytes:
    content = record.serialize()
    seed = signing.signing_seed(identity.pairs[ROOKERY_CSID].secret)
    signature = signing.sign(seed, to_sign(RECORD, realm, content))
    return Statement(RECORD, realm, content, signature).serialize()
