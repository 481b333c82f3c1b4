"""Datagram service: programs' datagrams from member to member, as their class allows (M11).

To a neighbour, the session decides for each datagram: UDP, TCP, or dropped. To any other member it
is sealed for the far end and carried along a route, where each hop decides alike.
"""

from collections import Counter
from collections.abc import Mapping

import msgspec

from rookery.errors import ProtocolError, UnreachableError, UsageError
from rookery.link.link import Link
from rookery.mesh.membership.membership import Membership
from rookery.mesh.membership.neighbourhood import Neighbourhood
from rookery.mesh.quality.datagram_policy import DatagramFate
from rookery.mesh.routing.data_plane import DataPlane
from rookery.wire.link.frame_types import DATAGRAM
from rookery.wire.link.path import Path
from rookery.wire.mesh.forward import DatagramClass
from rookery.wire.mesh.node_id import node_id

_HEAD = bytes([DATAGRAM])


class MeshDatagramArrived(msgspec.Struct, frozen=True):
    """A program's datagram, from a member."""

    hashname: str
    payload: bytes


class DatagramService:
    """Sends programs' datagrams, and keeps those that arrived for them."""

    def __init__(
        self,
        links: Mapping[str, Link],
        membership: Membership,
        neighbourhood: Neighbourhood,
        data_plane: DataPlane,
    ) -> None:
        self.routed: Counter[tuple[DatagramClass, bool]] = Counter()  # and whether they went
        self._links = links
        self._membership = membership
        self._neighbourhood = neighbourhood
        self._data_plane = data_plane
        self.arrived: list[MeshDatagramArrived] = []

    def send(
        self,
        hashname: str,
        payload: bytes,
        now: float,
        datagram_class: DatagramClass,
        deadline_s: float | None,
    ) -> bool:
        """True if it was sent; UsageError when it is larger than its class allows."""
        neighbour = self._neighbourhood.get(hashname)
        if neighbour is not None and self._data_plane.usable(neighbour.member.node):
            fate = neighbour.send(_HEAD, (payload,), now, datagram_class, deadline_s)
            if fate is DatagramFate.TOO_LARGE:
                text = f"a datagram of {len(payload)} bytes is too large"
                raise UsageError(f"{text} for class {datagram_class.name.lower()}")
            return fate.is_sent
        link = self._links.get(hashname)
        packet = None if link is None else link.sealed_frame(_HEAD, payload)
        if packet is None:
            raise UnreachableError(f"there is no link to {hashname[:8]}")
        sent = self._data_plane.start(node_id(hashname), packet, now, datagram_class)
        self.routed[datagram_class, sent] += 1
        return sent

    def received(self, link: Link, path: Path, payload: bytes, now: float) -> None:
        if self._membership.by_hashname(link.hashname) is None:
            raise ProtocolError("a datagram of no member")
        neighbour = self._neighbourhood.get(link.hashname)
        if neighbour is not None:
            neighbour.carried(now, size_in=len(payload), path=path)
        self.arrived.append(MeshDatagramArrived(link.hashname, payload))

    def take(self) -> list[MeshDatagramArrived]:
        arrived, self.arrived = self.arrived, []
        return arrived
