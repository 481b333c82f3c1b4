"""Tunnels of a node: one with each peer that wants one, two where both opened one at once.

The owner tells which paths there are to each peer, hands over TUNNEL frames, and carries what
`flush` gives it. Programs use a tunnel itself and tell that they did: `touched`.
"""

from collections import deque
from typing import Final

from rookery.errors import CongestionError
from rookery.identity.cipher_set import RandomBytes
from rookery.mesh.tunnel.events import CloseCode, Event
from rookery.mesh.tunnel.limits import TunnelLimits
from rookery.mesh.tunnel.packets.packet_builder import BuiltPacket
from rookery.mesh.tunnel.paths.path import TunnelPath
from rookery.mesh.tunnel.paths.scheduler import Mode
from rookery.mesh.tunnel.streams.stream_output import Parts
from rookery.mesh.tunnel.tunnel import Tunnel, TunnelRole, TunnelState
from rookery.wire.mesh.tunnel_frames import TunnelClose
from rookery.wire.mesh.tunnel_packet import HEAD_SIZE, TunnelPacket
from rookery.wire.octets import Octets

PEERS_MAX: Final = 1024

_REFUSE_S: Final = 1.0  # to each peer no more often
_OVER_MAX: Final = 16  # numbers remembered, of each peer

_LIMITS: Final = TunnelLimits()


class PeerPacket:
    """A packet to carry."""

    __slots__ = ("head", "parts", "path", "peer", "size")

    def __init__(self, peer: str, path: int, head: bytes, parts: Parts, size: int) -> None:
        self.peer: Final = peer
        self.path: Final = path
        self.head: Final = head
        self.parts: Final = parts
        self.size: Final = size

    @property
    def body(self) -> bytes:
        return b"".join(self.parts)


class TunnelEvent:
    """What happened, and where."""

    __slots__ = ("event", "peer", "tunnel")

    def __init__(self, peer: str, tunnel: Tunnel, event: Event) -> None:
        self.peer: Final = peer
        self.tunnel: Final = tunnel
        self.event: Final = event


class _TunnelPeer:
    """Paths to one peer, and the tunnels over them."""

    __slots__ = ("mode", "over", "paths", "refuse_from", "tunnels")

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self.paths: dict[int, TunnelPath] = {}
        self.tunnels: dict[TunnelRole, Tunnel] = {}
        self.over: deque[int] = deque(maxlen=_OVER_MAX)
        self.refuse_from = float("-inf")

    def find(self, number: int) -> Tunnel | None:
        for tunnel in self.tunnels.values():
            if tunnel.id == number:
                return tunnel
        return None


class Tunnels:
    """By the hashnames of peers."""

    def __init__(
        self, *, random: RandomBytes, limits: TunnelLimits = _LIMITS, mode: Mode = Mode.AUTO
    ) -> None:
        self._random = random
        self._limits = limits
        self._mode = mode
        self._peers: dict[str, _TunnelPeer] = {}
        self._touched: dict[int, tuple[str, Tunnel]] = {}
        self._deadlines: dict[int, tuple[float, str, Tunnel]] = {}
        self._moved: dict[int, tuple[str, Tunnel]] = {}  # whose deadlines may be others now
        self.has_more = False  # something was left by the last flush, for want of room in it
        self._answers: list[PeerPacket] = []
        self._events: list[TunnelEvent] = []

    def to(self, peer: str, now: float) -> Tunnel:
        """The tunnel with this peer; a new one where there is none."""
        known = self._peer(peer)
        for role in (TunnelRole.OPENER, TunnelRole.ACCEPTOR):
            tunnel = known.tunnels.get(role)
            if tunnel is not None and tunnel.state not in _NOT_TO_BE_USED:
                return tunnel
        return self._begin(peer, known, TunnelRole.OPENER, None, now)

    def of(self, peer: str) -> list[Tunnel]:
        known = self._peers.get(peer)
        return [] if known is None else list(known.tunnels.values())

    def set_mode(self, peer: str, mode: Mode) -> None:
        """How what we send to this peer uses the paths, of all its streams and from now on."""
        known = self._peer(peer)
        known.mode = mode
        for tunnel in known.tunnels.values():
            tunnel.mode = mode
            self.touched(peer, tunnel)

    def touched(self, peer: str, tunnel: Tunnel) -> None:
        """Somebody read, wrote or opened."""
        self._touched[id(tunnel)] = (peer, tunnel)

    def path_up(self, peer: str, path: TunnelPath, now: float) -> None:
        known = self._peer(peer)
        if path.id not in known.paths and len(known.paths) == self._limits.paths_max:
            raise CongestionError(f"a tunnel has {self._limits.paths_max} paths at most")
        known.paths[path.id] = path
        for tunnel in known.tunnels.values():
            tunnel.path_up(path, now)
            self.touched(peer, tunnel)

    def path_down(self, peer: str, path: int, now: float) -> None:
        known = self._peers.get(peer)
        if known is None:
            return
        known.paths.pop(path, None)
        for tunnel in known.tunnels.values():
            tunnel.path_down(path, now)
            self.touched(peer, tunnel)
        if not known.paths and not known.tunnels:
            del self._peers[peer]

    def received(
        self,
        peer: str,
        path: int,
        head: bytes,
        body: Octets,
        now: float,
        *,
        is_marked: bool = False,
    ) -> None:
        """A TUNNEL frame came; DecodeError for what is none, CongestionError beyond all bounds."""
        packet = TunnelPacket.parse(head, body)
        known = self._peer(peer)
        tunnel = known.find(packet.tunnel)
        if tunnel is None:
            if not packet.is_first or packet.tunnel in known.over:
                self._refuse(peer, known, path, packet, now)
                return
            tunnel = self._begin(peer, known, TunnelRole.ACCEPTOR, packet.tunnel, now)
        tunnel.take_in(packet, HEAD_SIZE + len(body), path, now, is_marked=is_marked)
        self.touched(peer, tunnel)

    def flush(self, now: float) -> list[PeerPacket]:
        """A batch of each tunnel where something happened."""
        packets, self._answers = self._answers, []
        touched, self._touched = self._touched, {}
        self.has_more = False
        for peer, tunnel in touched.values():
            batch: list[BuiltPacket] = tunnel.flush(now)
            for path, head, parts, size in batch:
                packets.append(PeerPacket(peer, path, head, parts, size))
            self._events += [TunnelEvent(peer, tunnel, event) for event in tunnel.take()]
            self._moved[id(tunnel)] = (peer, tunnel)
            if tunnel.has_more:
                self.has_more = True
                self.touched(peer, tunnel)
            if tunnel.state in _OVER:
                self._forget(peer, tunnel)
        return packets

    def tick(self, now: float) -> None:
        self._look()
        for deadline, peer, tunnel in list(self._deadlines.values()):
            if deadline <= now:
                tunnel.tick(now)
                self.touched(peer, tunnel)

    @property
    def deadline(self) -> float | None:
        """When to call `tick` and `flush` at the latest."""
        self._look()
        soonest: float | None = None
        for deadline, _, _ in self._deadlines.values():
            if soonest is None or deadline < soonest:
                soonest = deadline
        return soonest

    def _look(self) -> None:
        """Ask those where something happened since."""
        if not self._moved:
            return
        moved, self._moved = self._moved, {}
        for peer, tunnel in moved.values():
            deadline = tunnel.deadline
            if deadline is None:
                self._deadlines.pop(id(tunnel), None)
            else:
                self._deadlines[id(tunnel)] = (deadline, peer, tunnel)

    def take(self) -> list[TunnelEvent]:
        """What happened since the last time."""
        events, self._events = self._events, []
        for peer, tunnel in self._touched.values():
            events += [TunnelEvent(peer, tunnel, event) for event in tunnel.take()]
        return events

    def _peer(self, peer: str) -> _TunnelPeer:
        known = self._peers.get(peer)
        if known is None:
            if len(self._peers) == PEERS_MAX:
                raise CongestionError(f"there are tunnels with {PEERS_MAX} peers")
            known = self._peers[peer] = _TunnelPeer(self._mode)
        return known

    def _begin(
        self, peer: str, known: _TunnelPeer, role: TunnelRole, number: int | None, now: float
    ) -> Tunnel:
        tunnel = Tunnel(
            role,
            random=self._random,
            now=now,
            number=number,
            limits=self._limits,
            mode=known.mode,
        )
        former = known.tunnels.get(role)
        if former is not None:
            former.abort(CloseCode.REPLACED, "there is a newer one")
            self._events += [TunnelEvent(peer, former, event) for event in former.take()]
            self._forget(peer, former)
        for path in known.paths.values():
            tunnel.path_up(path, now)
        known.tunnels[role] = tunnel
        self.touched(peer, tunnel)
        return tunnel

    def _forget(self, peer: str, tunnel: Tunnel) -> None:
        known = self._peers[peer]
        if known.tunnels.get(tunnel.role) is tunnel:
            del known.tunnels[tunnel.role]
        known.over.append(tunnel.id)
        self._deadlines.pop(id(tunnel), None)
        self._moved.pop(id(tunnel), None)
        if not known.tunnels and not known.paths:
            del self._peers[peer]

    def _refuse(
        self, peer: str, known: _TunnelPeer, path: int, packet: TunnelPacket, now: float
    ) -> None:
        """Tell who remembers a tunnel that this node does not, as after a restart."""
        if now < known.refuse_from or any(
            isinstance(frame, TunnelClose) for frame in packet.frames
        ):
            return
        known.refuse_from = now + _REFUSE_S
        frame = TunnelClose(CloseCode.UNKNOWN, "nobody here knows this tunnel")
        head, body = TunnelPacket(packet.tunnel, path, 0, [frame]).serialize()
        self._answers.append(PeerPacket(peer, path, head, [body], len(body)))


_OVER: Final = (TunnelState.CLOSED, TunnelState.RESET)
_NOT_TO_BE_USED: Final = (*_OVER, TunnelState.HALF_CLOSED)
