"""Nodes that only flood, joined by links with delay and loss, in virtual time, from a seed."""

from collections import Counter
from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import combinations, count
from random import Random

from rookery.errors import RemoteError
from rookery.identity import signing
from rookery.identity.signing import Verify
from rookery.mesh.records.database import RecordDatabase
from rookery.mesh.records.flooding import Flooding, FloodLimits
from rookery.wire.link.frame_types import STATEMENTS
from rookery.wire.mesh.flood import Statements
from rookery.wire.mesh.node_id import NodeId
from rookery.wire.mesh.record import RecordLink
from tests.mesh.realms import NOW_S
from tests.mesh.signed_records import Scribe, membership, scribe

COST_US = 10_000


def trusting(key: bytes, message: bytes, signature: bytes) -> None:
    """For worlds whose subject is not forgery."""


class FloodNode:
    """One life of a node; `epoch` tells which."""

    def __init__(
        self, world: "FloodWorld", own: Scribe, epoch: int, known: Iterable[Scribe]
    ) -> None:
        self.own = own
        self.world = world
        self.epoch = epoch
        self.sequence = 0
        self.peers: dict[NodeId, int] = {}
        self.database = RecordDatabase(membership(own, *known), verify=world.verify)
        self.flooding = Flooding(
            self.database, self._send, world.random.randbytes, limits=world.limits, now=world.now
        )

    def _send(self, peer: NodeId, head: bytes, body: bytes) -> None:
        self.world.send(self.own.node, peer, head, body)

    def publish(self) -> bytes:
        self.sequence += 1
        links = [RecordLink(peer, 0, cost) for peer, cost in self.peers.items()][:48]
        data = self.own.says(self.sequence, *links, epoch=self.epoch)
        self.flooding.publish(data, self.world.now, self.world.unix_s)
        self.flooding.flush(self.world.now)
        return data

    def links_changed(self) -> None:
        self.flooding.neighbours_changed(self.peers, self.world.now)


class FloodWorld:
    def __init__(
        self,
        size: int,
        *,
        seed: int = 1,
        loss: float = 0.0,
        verify: Verify = signing.verify,
        limits: FloodLimits | None = None,
        acquainted: bool = True,
    ) -> None:
        self.random = Random(seed)
        self.loss = loss
        self.verify = verify
        self.limits = limits
        self.now = 1000.0
        self.scribes = [scribe(f"node {number}") for number in range(size)]
        self.acquainted = acquainted
        self.sent: Counter[int] = Counter()  # frames by type
        self.passed: Counter[tuple[NodeId, NodeId, bytes]] = Counter()  # statements by link
        self.refused: Counter[str] = Counter()
        self._order = count()
        self._events: list[tuple[float, int, NodeId, NodeId, bytes, bytes]] = []
        self._timers: list[tuple[float, NodeId]] = []
        self._armed: dict[NodeId, float] = {}
        self.nodes = {own.node: self._born(own, 1) for own in self.scribes}

    @property
    def unix_s(self) -> float:
        return NOW_S + self.now - 1000.0

    def _born(self, own: Scribe, epoch: int) -> FloodNode:
        return FloodNode(self, own, epoch, self.scribes if self.acquainted else ())

    def node(self, number: int) -> FloodNode:
        return self.nodes[self.scribes[number].node]

    def join(self, *pairs: tuple[int, int], cost: int = COST_US) -> None:
        for one, other in pairs:
            first, second = self.node(one), self.node(other)
            for here, there in ((first, second), (second, first)):
                here.peers[there.own.node] = cost
                here.database.membership.admit(there.own.certificate, self.unix_s)
        for number in {number for pair in pairs for number in pair}:
            self.node(number).links_changed()

    def cut(self, *pairs: tuple[int, int]) -> None:
        for one, other in pairs:
            first, second = self.node(one), self.node(other)
            del first.peers[second.own.node], second.peers[first.own.node]
            first.links_changed()
            second.links_changed()

    def join_at_random(self, degree: int) -> None:
        """A ring, and chords until the mean degree is reached."""
        size = len(self.scribes)
        pairs = {(number, number + 1) for number in range(size - 1)} | {(0, size - 1)}
        others = [pair for pair in combinations(range(size), 2) if pair not in pairs]
        missing = max(0, size * degree // 2 - size)
        pairs |= set(self.random.sample(others, min(missing, len(others))))
        for pair in sorted(pairs):
            self.join(pair, cost=self.random.randrange(1_000, 100_000))

    def restart_all(self) -> None:
        """Everybody at once, with nothing but an epoch that is one higher (tinc#486)."""
        former = self.nodes
        self._events.clear()
        self.nodes = {}
        for old in former.values():
            self.nodes[old.own.node] = node = self._born(old.own, old.epoch + 1)
            node.peers = dict(old.peers)
        for node in self.nodes.values():
            for peer in node.peers:
                node.database.membership.admit(self.nodes[peer].own.certificate, self.unix_s)
            node.links_changed()
            node.publish()

    def send(self, source: NodeId, target: NodeId, head: bytes, body: bytes) -> None:
        self.sent[head[0]] += 1
        if head[0] == STATEMENTS:
            for data in Statements.parse(head, body).statements:
                self.passed[source, target, data] += 1
        if self.random.random() >= self.loss:
            at = self.now + 0.005 + self.random.random() * 0.01
            heappush(self._events, (at, next(self._order), source, target, head, body))

    def _deliver(self, source: NodeId, target: NodeId, head: bytes, body: bytes) -> None:
        node = self.nodes[target]
        if source not in node.peers:
            return
        try:
            node.flooding.received(source, head[0], head, body, self.now, self.unix_s)
        except RemoteError as error:
            self.refused[str(error)] += 1
        node.flooding.flush(self.now)

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        for key in self.nodes:
            self._arm(key)
        while True:
            timer = self._timers[0][0] if self._timers else end
            at = min(timer, self._events[0][0] if self._events else end)
            if at >= end:
                self.now = end
                return
            self.now = max(at, self.now)
            if timer <= at:
                _, key = heappop(self._timers)
                if self._armed.get(key) == timer:
                    self._armed.pop(key)
                    self.nodes[key].flooding.tick(self.now)
                    self._arm(key)
            else:
                _, _, source, target, head, body = heappop(self._events)
                self._deliver(source, target, head, body)
                self._arm(target)

    def _arm(self, key: NodeId) -> None:
        deadline = self.nodes[key].flooding.deadline
        if deadline is not None and self._armed.get(key) != deadline:
            self._armed[key] = deadline
            heappush(self._timers, (deadline, key))

    @property
    def is_converged(self) -> bool:
        """Everybody holds the same, and the newest record of everybody."""
        newest = {
            node.own.node: (node.epoch, node.sequence)
            for node in self.nodes.values()
            if node.sequence
        }
        return all(
            {origin: record.version for origin, record in node.database.records.items()} == newest
            for node in self.nodes.values()
        )

    def converges_within(self, seconds: float) -> float:
        """Seconds until everybody holds the same."""
        start = self.now
        while not self.is_converged:
            assert self.now < start + seconds, "no convergence"
            self.run(0.1)
        return self.now - start
