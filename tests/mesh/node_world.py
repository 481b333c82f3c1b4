"""A few whole nodes in virtual time, each as its test wants it; `sim.mesh.world` has the many."""

from collections.abc import Iterable

from rookery.identity import signing
from rookery.link.endpoint import Endpoint
from rookery.link.link import Link
from rookery.mesh.membership.membership import Membership
from rookery.mesh.node_settings import NodeSettings
from rookery.mesh.quality.liveness import PathCondition
from rookery.sim.endpoint import EPOCH_UNIX_S
from rookery.sim.mesh.member import SimulatedMember
from rookery.sim.world import PORT, World
from rookery.wire.link.path import NetPath
from rookery.wire.mesh.node_id import NodeId
from tests.mesh.realms import REALM, YEAR_S, certify, identity


class NodeWorld(World):
    """Members by name; the first one is at 10.0.0.1, and so on."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.members: dict[str, SimulatedMember] = {}

    def member(
        self,
        name: str,
        *,
        roles: Iterable[str] = ("relay",),
        peers: Iterable[str] = (),
        settings: NodeSettings | None = None,
        epoch: int = 1,
        until_s: float = YEAR_S,
        kinds: tuple[str, ...] = ("tcp4", "udp4"),
        is_dialable: bool = False,
    ) -> SimulatedMember:
        """Start a member; `peers` are names of those that may know it for one at once."""
        who, ip = identity(name), f"10.0.0.{len(self.members) + 1}"
        if name in self.members:
            ip = self.members[name].paths[0].ip
        endpoint = Endpoint(
            who, random=self.random.randbytes, unix_s=EPOCH_UNIX_S + self.now, now=self.now
        )
        paths = tuple(NetPath(kind, ip, PORT) for kind in kinds)
        told = NodeSettings(
            paths=paths if is_dialable else (),
            peers=frozenset(identity(peer).hashname for peer in peers),
        )
        certificate = certify(who, name, roles, until_s=int(EPOCH_UNIX_S + until_s))
        node = self.members[name] = SimulatedMember(
            self,
            endpoint,
            paths,
            Membership(REALM, certificate),
            settings or told,
            epoch=epoch,
            verify=signing.verify,
            watcher=lambda *_: None,
        )
        self.place(node)
        node.due()
        return node

    def link(self, one: SimulatedMember, other: SimulatedMember) -> Link:
        """Have one dial the other, at its first address."""
        keys = other.endpoint.identity.keys
        link = one.endpoint.link(other.hashname, keys, other.paths[:1], self.now)
        one.due()
        return link

    def line(self, *names: str) -> list[SimulatedMember]:
        """Members in a row, each linked with the next."""
        nodes = []
        for at, name in enumerate(names):
            nodes.append(
                self.member(name, peers=(*names[max(0, at - 1) : at], *names[at + 1 : at + 2]))
            )
            if at:
                self.link(nodes[-1], nodes[-2])
        self.run_until(lambda: all(self.reaches(nodes[0], node) for node in nodes[1:]), 30)
        self.run_until(lambda: all(self.reaches(nodes[-1], node) for node in nodes[:-1]), 30)
        return nodes

    def reaches(self, one: SimulatedMember, other: SimulatedMember) -> bool:
        return one.core.table.to(other.id, self.now) is not None

    def is_up(self, one: SimulatedMember, other: SimulatedMember) -> bool:
        neighbour = one.core.neighbours.get(other.id)
        return neighbour is not None and neighbour.state is PathCondition.UP


def peers_in(node: SimulatedMember, origin: NodeId) -> set[NodeId]:
    """Whom the record of `origin` has links to, as a node knows it."""
    record = node.core.database.records.get(origin)
    return set() if record is None else {link.peer for link in record.links}
