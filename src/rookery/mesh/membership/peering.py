"""Peering: which members this node makes links with, and whose links it accepts.

    a member's record says where it can be dialled ──▶ dialled, a few at a time
    a stranger's handshake ──▶ of a member: accepted
                           └─▶ of anyone else: accepted for a few seconds, to show a certificate

Every direct link that is possible is made, up to `links_max`, also with members that several
routes lead to (M1). A member that was away does not know the certificates of those who joined
meanwhile, so strangers get `UNPROVEN_S` to show theirs, at most `UNPROVEN_MAX` of them at a time.
"""

from collections.abc import Mapping

from rookery.link.discovery.advertised_paths import may_be_tried
from rookery.link.endpoint import Endpoint
from rookery.link.link import ROOKERY_CSID, Link
from rookery.link.session.handshake import Stranger
from rookery.mesh.membership.dialling import Dialling
from rookery.mesh.membership.membership import Member, Membership
from rookery.mesh.membership.neighbour import Neighbour
from rookery.wire.link.path import NetPath, Path, RoutePath
from rookery.wire.mesh.node_id import NodeId
from rookery.wire.mesh.record import Record

UNPROVEN_MAX = 64
UNPROVEN_S = 10.0


class UnprovenPeers:
    """Hashnames of strangers, longest present first."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._until)

    def __contains__(self, hashname: object) -> bool:
        return hashname in self._until

    def admit(self, hashname: str, now: float) -> bool:
        """False when there are too many already."""
        if hashname not in self._until:
            if len(self._until) >= UNPROVEN_MAX:
                return False
            self._until[hashname] = now + UNPROVEN_S
        return True

    def leave(self, hashname: str) -> None:
        self._until.pop(hashname, None)

    @property
    def deadline(self) -> float | None:
        return next(iter(self._until.values()), None)

    def take_overdue(self, now: float) -> list[str]:
        """Remove and return those whose time is over."""
        overdue = [hashname for hashname, until in self._until.items() if until <= now]
        for hashname in overdue:
            del self._until[hashname]
        return overdue


class Peering:
    """Makes links and ends them; `Neighbourhood` measures them."""

    def __init__(
        self,
        endpoint: Endpoint,
        membership: Membership,
        records: Mapping[NodeId, Record],
        neighbours: Mapping[NodeId, Neighbour],
        links_max: int,
    ) -> None:
        self.dialling = Dialling(endpoint.random)
        self.unproven_peers = UnprovenPeers()
        self.takes_joins = False  # whether this node redeems invitations
        self._endpoint = endpoint
        self._membership = membership
        self._records = records
        self._neighbours = neighbours
        self._links_max = links_max
        endpoint.trusts = self._trusts

    def reach(self, member: Member, now: float) -> Link:
        """The link to a member, direct or through the mesh, made if need be and kept."""
        paths: tuple[Path, ...] = (RoutePath(member.hashname), *self._dialable(member.node))
        return self._endpoint.link(member.hashname, {ROOKERY_CSID: member.key}, paths, now)

    def want(self, node: NodeId, now: float) -> None:
        """Have a direct link with a member, if it can be dialled and there is room."""
        if node == self._membership.own.node or node in self._neighbours:
            return
        if not self._dialable(node):
            return
        if node in self.dialling:
            self.dialling.news(node, now)
        elif len(self._neighbours) + self.dialling.trying < self._links_max:
            self.dialling.want(node, now)

    def linked(self, member: Member, *, is_news: bool) -> None:
        """It has shown its certificate over our link: now it may learn our paths."""
        self.unproven_peers.leave(member.hashname)
        self.dialling.done(member.node)
        if is_news:
            self._endpoint.advertised_paths.send(self._endpoint.links[member.hashname])

    def unlinked(self, hashname: str, now: float) -> None:
        """The endpoint has forgotten the link."""
        self.unproven_peers.leave(hashname)
        member = self._membership.by_hashname(hashname)
        if member is not None:
            self.dialling.failed(member.node, now)

    def discovered(self, stranger: Stranger, now: float) -> None:
        """A stranger without a link sent a handshake."""
        if not stranger.is_proven:
            return
        is_known = self._trusts(stranger.hashname)
        if not is_known and not self._is_welcome(stranger.hashname):
            return
        if is_known or self.unproven_peers.admit(stranger.hashname, now):
            self._endpoint.accept(stranger, now)

    def _is_welcome(self, hashname: str) -> bool:
        """A revoked member has nothing to show, unless it can be invited again right here."""
        return self.takes_joins or not self._membership.is_revoked(hashname)

    def expel(self, member: Member, now: float) -> None:
        """No member any more."""
        self.dialling.done(member.node)
        self._forget(member.hashname, now)

    @property
    def deadline(self) -> float | None:
        times = (self.dialling.deadline, self.unproven_peers.deadline)
        return min((time for time in times if time is not None), default=None)

    def tick(self, now: float) -> None:
        for hashname in self.unproven_peers.take_overdue(now):
            if not self._trusts(hashname):
                self._forget(hashname, now)
        for node in self.dialling.take_due(now):
            self._dial(node, now)

    def _trusts(self, hashname: str) -> bool:
        return self._membership.by_hashname(hashname) is not None

    def _dial(self, node: NodeId, now: float) -> None:
        member, paths = self._membership.member(node), self._dialable(node)
        if member is None or not paths:
            self.dialling.done(node)
            return
        link = self._endpoint.links.get(member.hashname)
        if link is None:
            keys = {ROOKERY_CSID: member.key}
            self._endpoint.link(member.hashname, keys, paths, now, persistent=False)
            return
        for path in paths:
            link.add_path(path, now, configured=False)

    def _dialable(self, node: NodeId) -> tuple[NetPath, ...]:
        """Where its record says that it is, as far as that means the same place here.

        Loopback is another machine for each that says it: only a node that lives there itself
        tries it. The same goes for link-local addresses.
        """
        record = self._records.get(node)
        if record is None:
            return ()
        own = self._endpoint.own_paths
        return tuple(p for p in record.paths if not p.is_datagram and may_be_tried(p, own))

    def _forget(self, hashname: str, now: float) -> None:
        link = self._endpoint.links.get(hashname)
        if link is not None:
            self._endpoint.forget(link, now)
