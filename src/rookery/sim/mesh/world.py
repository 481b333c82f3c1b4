"""A realm in the deterministic world: members with real certificates on a topology, and faults.

    world = MeshWorld(seed=7, size=50)
    world.converge()
    world.sever(3, 17)                  nothing passes between these two
    world.kill(5), world.vanish(6)      a process dies; a machine disappears silently
    world.revive(5)                     the same identity and certificate, without other state
    world.converge()

Members are linked exactly as the topology says: none advertises its address, or, with
`is_dialable`, nothing passes between members that the topology does not link. The checks in
`invariants` run all the time. Each signature is verified once for all members.
"""

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from hashlib import sha256
from itertools import combinations, pairwise

from rookery.errors import UnreachableError
from rookery.identity import signing
from rookery.identity.identity import Identity
from rookery.identity.realm import Authority, Realm
from rookery.link.endpoint import Endpoint
from rookery.mesh.membership.membership import Membership
from rookery.mesh.node_settings import NodeSettings
from rookery.mesh.quality.liveness import PathCondition
from rookery.sim.endpoint import EPOCH_UNIX_S
from rookery.sim.mesh.invariants import PacketTraces, ResourceBounds, TwoWayEdges
from rookery.sim.mesh.member import SimulatedMember
from rookery.sim.mesh.topology import Pair, Topology, components, random_topology
from rookery.sim.network.network import Conditions
from rookery.sim.world import PORT, World
from rookery.wire.link.path import NetPath
from rookery.wire.mesh.node_id import NodeId, node_id

CONVERGE_S = 600.0  # redials back off up to five minutes
_YEAR_S = 365 * 86_400
_POLL_S = 0.25


@lru_cache(1 << 20)
def verify_once(key: bytes, message: bytes, signature: bytes) -> None:
    """As `signing.verify`; what held once holds."""
    signing.verify(key, message, signature)


class MeshWorld(World):
    """Members by number, each with an address, a certificate and links to its neighbours."""

    def __init__(
        self,
        seed: int,
        size: int = 0,
        *,
        topology: Topology | None = None,
        kinds: tuple[str, ...] = ("tcp4", "udp4"),
        is_dialable: bool = False,
        issuers: Collection[int] = (),
    ) -> None:
        super().__init__(seed)
        self.topology = topology or random_topology(self.random, size)
        self.members: dict[int, SimulatedMember] = {}  # those that run
        self.numbers: dict[NodeId, int] = {}
        self.severed: set[Pair] = set()
        self.names_more = 0  # members that are names only, of a hostile issuer's making
        self.traces = PacketTraces(self)
        self._kinds = kinds
        self._is_dialable = is_dialable
        root_seed = sha256(b"root %d" % seed).digest()
        self.realm = Realm("sim", signing.public(root_seed))
        self._root = Authority(self.realm, root_seed)
        self._identities = [
            Identity.generate((0x40,), self.random.randbytes) for _ in range(self.topology.size)
        ]
        self._issuers = issuers
        self._certificates = [self._certify(number) for number in range(self.topology.size)]
        self._epochs: dict[int, int] = {}
        self._parts: list[set[int]] = []
        for (one, other), delay_s in self.topology.delays_s.items():
            for source, target in ((one, other), (other, one)):
                self.network.change(Conditions(delay_s=delay_s), ip(source), ip(target))
        if is_dialable:
            self._separate_others()
        for number in range(self.topology.size):
            self.revive(number)
        self.watch(ResourceBounds(self).check, every_s=1.0)
        self.watch(TwoWayEdges(self).check, every_s=0.1)

    # --- faults ---

    def revive(self, number: int) -> SimulatedMember:
        """Start a member, for the first time or again; its links are those of the topology."""
        if number in self.members:
            self.crash(self.members[number])
        epoch = self._epochs[number] = self._epochs.get(number, 0) + 1
        endpoint = Endpoint(
            self._identities[number],
            random=self.random.randbytes,
            unix_s=EPOCH_UNIX_S + self.now,
            now=self.now,
        )
        near = list(self.topology.neighbours(number))
        peers = frozenset(self._identities[other].hashname for other in near)
        paths = tuple(NetPath(kind, ip(number), PORT) for kind in self._kinds)
        node = self.members[number] = SimulatedMember(
            self,
            endpoint,
            paths,
            Membership(self.realm, self._certificates[number], verify=verify_once),
            NodeSettings(peers=peers, paths=paths[:1] if self._is_dialable else ()),
            epoch=epoch,
            verify=verify_once,
            watcher=self.traces.seen,
        )
        self.numbers[node.id] = number
        self.place(node)
        for other in near:
            if number < other:  # one of the two dials
                self._dial(node, other)
        node.due()
        return node

    def kill(self, number: int) -> None:
        """The process dies; its machine closes its connections, as far as packets can pass."""
        self.crash(self.members.pop(number))

    def vanish(self, number: int) -> None:
        """The machine disappears without closing connections."""
        node = self.members.pop(number)
        self.remove(node)
        node.is_running = False

    def revoke(self, number: int, via: int) -> None:
        """The root revokes a certificate and sends the revocation to the member `via`."""
        hashname = self._identities[number].hashname
        revocation = self._root.revoke(hashname, int(EPOCH_UNIX_S + self.now))
        self.members[via].core.tell(revocation, self.now)
        self.members[via].due()

    def restart_all(self) -> None:
        """Every process, at the same moment."""
        for number in range(self.topology.size):
            if number in self.members:
                self.crash(self.members[number])
        for number in range(self.topology.size):
            self.revive(number)

    def sever(self, one: int, other: int) -> None:
        """Nothing passes between these two."""
        self.severed.add((min(one, other), max(one, other)))
        self.journal.note(self.now, f"{ip(one)} and {ip(other)} are severed")
        self.separate(ip(one), ip(other))

    def mend(self, one: int, other: int) -> None:
        self.severed.discard((min(one, other), max(one, other)))
        self.journal.note(self.now, f"{ip(one)} and {ip(other)} are mended")
        self.network.unblock(ip(one), ip(other))
        self.network.unblock(ip(other), ip(one))

    def divide(self, *parts: Iterable[int]) -> None:
        """Nothing passes between the parts; without any, everything does again."""
        self._parts = [set(part) for part in parts]
        self.journal.note(self.now, f"divided into {len(parts)}")
        self.network.partition(*(map(ip, part) for part in self._parts))

    # --- how it should be ---

    def identifier(self, number: int) -> NodeId:
        return node_id(self._identities[number].hashname)

    def links(self) -> Iterator[Pair]:
        """The links that can be there now."""
        for pair in self.topology.delays_s:
            if pair not in self.severed and all(number in self.members for number in pair):
                holders = [part for part in self._parts if not part.isdisjoint(pair)]
                if len(holders) < 2:
                    yield pair

    def parts(self) -> list[set[int]]:
        """The connected components now."""
        return components(self.members, self.links())

    def converge(self, limit_s: float = CONVERGE_S) -> float:
        """Run until all members know all records and links; returns how long that took."""
        began = self.now
        while (fault := self.unsettled()) is not None:
            if self.now - began > limit_s:
                raise UnreachableError(f"not settled within {limit_s} virtual seconds: {fault}")
            self.run(_POLL_S)
        return self.now - began

    def unsettled(self) -> str | None:
        """What is missing to convergence: a link, a record, or a node's knowledge of it."""
        near: dict[int, set[NodeId]] = {number: set() for number in self.members}
        for one, other in self.links():
            near[one].add(self.members[other].id)
            near[other].add(self.members[one].id)
        for number, node in self.members.items():
            neighbours = node.core.neighbours.items()
            up = {peer for peer, neighbour in neighbours if neighbour.state is PathCondition.UP}
            if up != near[number]:
                return f"{number} has {len(up)} of {len(near[number])} links"
            record = node.core.database.records.get(node.id)
            if record is None or {link.peer for link in record.links} != up:
                return f"{number} has not published its links"
        for part in self.parts():
            for one, other in pairwise(sorted(part)):
                databases = [self.members[number].core.database for number in (one, other)]
                here, there = (database.inventory(self.now).root for database in databases)
                if here != there:
                    return f"{one} and {other} differ"
        return None

    # --- inside ---

    def _separate_others(self) -> None:
        for pair in combinations(range(self.topology.size), 2):
            if pair not in self.topology.delays_s:
                self.separate(*map(ip, pair))

    def _dial(self, node: SimulatedMember, other: int) -> None:
        path = NetPath(self._kinds[0], ip(other), PORT)
        identity = self._identities[other]
        node.endpoint.link(identity.hashname, identity.keys, [path], self.now)

    def _certify(self, number: int) -> bytes:
        identity = self._identities[number]
        return self._root.certify(
            identity.keys[0x40],
            identity.intermediates(0x40),
            name=f"member {number}",
            roles=("relay", "issuer") if number in self._issuers else ("relay",),
            serial=number + 1,
            from_s=int(EPOCH_UNIX_S) - 60,
            until_s=int(EPOCH_UNIX_S) + _YEAR_S,
        )


def ip(number: int) -> str:
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
