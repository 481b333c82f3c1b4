"""Neighbourhood: the links with members that have shown their certificates.

    a direct path is found ──▶ to a member, or to a peer in the settings: show our certificate,
                               repeatedly until the peer's pings prove that it has seen it
    a certificate is shown ──▶ it is of that very hashname ──▶ neighbour; show ours in turn
    a link is gone         ──▶ the neighbour is, too, and no other (R3)

Before that, no frame but a certificate is accepted from a link.
"""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

from rookery.errors import ProtocolError
from rookery.identity.cipher_set import RandomBytes
from rookery.link.link import Link
from rookery.link.timers import Timers
from rookery.link.token_bucket import TokenBuckets
from rookery.mesh.membership.membership import Member, Membership
from rookery.mesh.membership.neighbour import Neighbour, QueueSize
from rookery.mesh.quality.cost_advice import CostAdvice
from rookery.mesh.quality.datagram_policy import DatagramFate
from rookery.mesh.quality.liveness import PathCondition
from rookery.wire.link.frame_types import MEMBER
from rookery.wire.link.path import Path
from rookery.wire.mesh.forward import DatagramClass
from rookery.wire.mesh.node_id import NodeId, node_id
from rookery.wire.mesh.record import LOSS_MAX, RecordLink, rate_code

REPEAT_S_MIN = 1.0
REPEAT_S_MAX = 64.0

_SHOW = bytes([MEMBER])
_PROOFS_PER_S = 0.5  # unknown certificates over one link; each costs a signature
_PROOFS_BURST = 8.0
_CARRYING = (PathCondition.UP, PathCondition.SUSPECT)


class _ShownCertificate:
    """Where our certificate was shown, and when again unless something comes of it."""

    __slots__ = ("link", "wait_s")

    def __init__(self, link: Link) -> None:
        self.link = link
        self.wait_s = REPEAT_S_MIN


class Neighbourhood:
    """All neighbours, their timers and what changed about them."""

    def __init__(
        self,
        membership: Membership,
        random: RandomBytes,
        *,
        offsets_us: Mapping[str, int],
        queue_size: QueueSize | None,
    ) -> None:
        self._membership = membership
        self._random = random
        self._offsets_us = offsets_us  # by hashname, the operator's
        self._queue_size = queue_size
        self._neighbours: dict[NodeId, Neighbour] = {}
        self._shown: dict[
            str, _ShownCertificate
        ] = {}  # who has our certificate, in the session that is on
        self._past: Counter[tuple[DatagramClass, DatagramFate]] = (
            Counter()
        )  # of neighbours that are gone
        self._proofs = TokenBuckets(_PROOFS_PER_S, _PROOFS_BURST)
        self._timers = Timers()
        self._repeats = Timers()
        self._is_changed = False
        self._channel_packets: dict[NodeId, int] = {}  # that each link had when last looked at

    def __len__(self) -> int:
        return len(self._neighbours)

    @property
    def neighbours(self) -> Mapping[NodeId, Neighbour]:
        return MappingProxyType(self._neighbours)

    def get(self, hashname: str) -> Neighbour | None:
        neighbour = self._neighbours.get(node_id(hashname))
        if neighbour is None or neighbour.member.hashname != hashname:
            return None
        return neighbour

    def advise(self, cost_advice: CostAdvice, unix_s: float) -> None:
        """Apply cost advice to all neighbours."""
        for neighbour in self._neighbours.values():
            neighbour.advice = cost_advice.factor(neighbour.member.hashname, unix_s)

    def record_links(self, now: float) -> list[RecordLink]:
        """Our links that carry packets, as our record lists them."""
        links = []
        for node, neighbour in self._neighbours.items():
            if neighbour.state in _CARRYING and (cost_us := neighbour.cost_us(now)) is not None:
                loss, rate = neighbour.loss(now), neighbour.rate(now) or 0.0
                links.append(RecordLink(node, 0, cost_us, round(LOSS_MAX * loss), rate_code(rate)))
        return links

    def notice_traffic(self, now: float) -> None:
        """Links whose channels are in use are watched as closely as those that relay."""
        for node, neighbour in self._neighbours.items():
            packets = neighbour.link.channel_packets
            if packets != self._channel_packets.get(node):
                self._channel_packets[node] = packets
                neighbour.carried(now)

    def withdrawn(self, origin: NodeId, peer: NodeId, now: float) -> None:
        """A member has lost its link with another: either may be one of ours, or gone for good."""
        lost = origin if peer == self._membership.own.node else peer
        neighbour = self._neighbours.get(lost)
        if neighbour is not None:
            neighbour.doubt(now)
            self.touch(neighbour)

    def datagrams(self) -> Counter[tuple[DatagramClass, DatagramFate]]:
        """Fates of all datagrams since the start."""
        total = self._past.copy()
        for neighbour in self._neighbours.values():
            total.update(neighbour.datagrams.counts)
        return total

    def take_changed(self) -> bool:
        changed, self._is_changed = self._is_changed, False
        return changed

    # --- what happens to links ---

    def show(self, link: Link, now: float) -> None:
        """Prove our membership to the peer, in every session anew."""
        if link.hashname not in self._shown:
            self._shown[link.hashname] = _ShownCertificate(link)
            self._show(link, now)

    def _show(self, link: Link, now: float) -> None:
        # Over two connections it may overtake the handshake that the peer needs to read it.
        link.send_frame(_SHOW, self._membership.own.certificate)
        shown = self._shown[link.hashname]
        self._repeats.arm(link.hashname, now + shown.wait_s)
        shown.wait_s = min(2 * shown.wait_s, REPEAT_S_MAX)

    def shown(self, link: Link, certificate: bytes, now: float, unix_s: float) -> Member:
        """The peer proves to be a member; RemoteError when it does not."""
        known = self._membership.by_hashname(link.hashname)
        is_news = known is None or known.certificate != certificate
        if is_news and not self._proofs.take(node_id(link.hashname), now):
            raise ProtocolError("too many certificates")
        member = self._membership.prove(link.hashname, certificate, unix_s)
        self.show(link, now)
        neighbour = self._neighbours.get(member.node)
        if neighbour is None or neighbour.link is not link:
            self._neighbours[member.node] = Neighbour(
                member,
                link,
                now=now,
                random=self._random,
                offset_us=self._offsets_us.get(member.hashname, 0),
                queue_size=self._queue_size,
                hastened=self.touch,
            )
        self.touch(self._neighbours[member.node])
        return member

    def path_found(self, link: Link, now: float) -> None:
        """A path to a neighbour was found."""
        neighbour = self.get(link.hashname)
        if neighbour is not None:
            neighbour.tick(now)
            self.touch(neighbour)

    def path_lost(self, link: Link, path: Path, now: float) -> None:
        neighbour = self.get(link.hashname)
        if neighbour is not None:
            neighbour.path_lost(path, now)
            self.touch(neighbour)

    def session_over(self, link: Link) -> NodeId | None:
        """The link fell, or its peer restarted; the neighbour that this ends."""
        self._not_shown(link.hashname)
        return self._drop(link.hashname)

    def expel(self, member: Member) -> None:
        """No member any more."""
        self._not_shown(member.hashname)
        self._drop(member.hashname)

    def _not_shown(self, hashname: str) -> None:
        self._shown.pop(hashname, None)
        self._repeats.disarm(hashname)

    def _drop(self, hashname: str) -> NodeId | None:
        neighbour = self.get(hashname)
        if neighbour is None:
            return None
        del self._neighbours[neighbour.member.node]
        self._channel_packets.pop(neighbour.member.node, None)
        neighbour.close()
        self._past.update(neighbour.datagrams.counts)
        self._timers.disarm(hashname)
        self._is_changed = True
        return neighbour.member.node

    # --- time ---

    @property
    def deadline(self) -> float | None:
        times = self._timers.deadline, self._repeats.deadline
        return min((time for time in times if time is not None), default=None)

    def tick(self, now: float) -> None:
        for hashname in self._repeats.take_due(now):
            neighbour = self.get(hashname)
            if neighbour is None or neighbour.state is PathCondition.JOINING:
                self._show(self._shown[hashname].link, now)
        for hashname in self._timers.take_due(now):
            neighbour = self.get(hashname)
            if neighbour is not None:
                neighbour.tick(now)
                self.touch(neighbour)

    def touch(self, neighbour: Neighbour) -> None:
        """Note changes of a neighbour, and arm its timer."""
        self._is_changed |= neighbour.take_changed()
        if (deadline := neighbour.deadline) is not None:
            self._timers.arm(neighbour.member.hashname, deadline)
