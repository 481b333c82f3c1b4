"""Forwarding: one node's step of every packet that travels along a source route (R2).

    received ─▶ known step? ── yes ─▶ destination ─▶ deliver
                    │no                relay       ─▶ next node sound  ─▶ send, body untouched
                    ▼                                  │no
              check the frame                          ▼
                                      detour around it ─▶ send, else a path error to the origin

What a frame's head and route mean for this node is worked out once and remembered, so the usual
step is one look-up. Loops cannot form: a route names distinct nodes, the passed ones stay in it
and no detour touches them; the hop limit holds even if others break that rule.
"""

from collections import Counter
from typing import Final, NamedTuple, Protocol

import msgspec

from rookery.errors import DecodeError, ProtocolError, UsageError
from rookery.link.token_bucket import TokenBuckets
from rookery.wire.link.path import Arrival
from rookery.wire.mesh.forward import (
    HEAD_SIZE,
    HOP_LIMIT_MAX,
    QUOTE_SIZE_MAX,
    REPAIRS_MAX,
    ROUTE_MAX,
    ROUTE_MIN,
    DatagramClass,
    Forward,
    ForwardKind,
    PathError,
    PathErrorReason,
    marked,
)
from rookery.wire.mesh.node_id import NODE_ID_SIZE, NodeId
from rookery.wire.octets import Octets, Parts, tail

RouteNodes = tuple[NodeId, ...]

STEPS_MAX: Final = 1024  # remembered; of the longest routes that is a megabyte
_COUNT_AT: Final = 4  # in the head
_ERRORS_PER_S: Final = 16.0
_ERRORS_BURST: Final = 32.0

# An answer that is lost is lost: telling its sender would be an answer to an answer.
_ANSWERS: Final = frozenset({ForwardKind.ECHO_REPLY, ForwardKind.PATH_ERROR})


class ForwardingContext(Protocol):
    """What forwarding needs of its node."""

    def usable(self, neighbour: NodeId) -> bool:
        """True if a link to this node is up or suspect."""
        ...

    def sound(self, neighbour: NodeId) -> bool:
        """True if the link is up and not suspect."""
        ...

    def send(
        self, neighbour: NodeId, head: bytes, parts: Parts, datagram_class: DatagramClass
    ) -> bool:
        """Hand a frame to a usable neighbour's link; False when it was dropped there."""
        ...

    def detour(self, destination: NodeId, avoid: frozenset[NodeId]) -> RouteNodes | None:
        """Nodes from here to the destination, over a usable neighbour and none of `avoid`.

        The destination among them means: not over the link to it.
        """
        ...

    def is_busy(self, neighbour: NodeId) -> bool:
        """True if there is a standing queue, so that packets should be marked."""
        ...

    def deliver(self, kind: ForwardKind, arrival: Arrival, payload: Octets, now: float) -> None:
        """A packet for this node, and how it came."""
        ...

    def may_relay(self, previous: NodeId) -> bool:
        """Whether this node relays what that neighbour sends."""
        ...


class _ForwardingStep(NamedTuple):
    """What this node does with one head and route from one neighbour."""

    following: NodeId  # empty: the packet has arrived
    head: bytes  # for the following node; empty when the hop limit ends here
    kind: ForwardKind
    datagram_class: DatagramClass
    arrival: Arrival | None  # None: it goes on to the following node


class Forwarder:
    """Relays, repairs and delivers the packets of one node, and starts its own."""

    __slots__ = ("_errors", "_fates", "_site", "_steps", "node", "relayed", "relayed_bytes")

    def __init__(self, node: NodeId, site: ForwardingContext) -> None:
        self.node = node
        self.relayed = 0
        self.relayed_bytes = 0
        self._site = site
        self._steps: dict[bytes, _ForwardingStep] = {}
        self._errors = TokenBuckets(_ERRORS_PER_S, _ERRORS_BURST)
        self._fates: Counter[str] = Counter()

    @property
    def fates(self) -> dict[str, int]:
        """Counts of packets by fate; the set of names is fixed."""
        return {"relayed": self.relayed, **self._fates}

    @property
    def remembered(self) -> int:
        """The number of cached steps, at most `STEPS_MAX`."""
        return len(self._steps)

    def received(self, neighbour: NodeId, head: bytes, body: Octets, now: float) -> None:
        """A FORWARD frame; RemoteError with a stable reason when it is refused."""
        if len(head) != HEAD_SIZE:
            raise DecodeError("not a forward head")
        known = neighbour + head + bytes(body[: head[_COUNT_AT] * NODE_ID_SIZE])
        step = self._steps.get(known) or self._learn(known, neighbour, head, body)
        following, onward, kind, datagram_class, arrival = step
        site = self._site
        if arrival is not None:
            self._fates["delivered"] += 1
            payload = tail(body, head[_COUNT_AT] * NODE_ID_SIZE)
            site.deliver(kind, arrival, payload, now)
        elif not onward:
            self._give_up(Forward.parse(head, body), PathErrorReason.HOP_LIMIT, now)
        elif not site.may_relay(neighbour):
            self._give_up(Forward.parse(head, body), PathErrorReason.REFUSED, now)
        elif not site.sound(following):
            self._relay_around(Forward.parse(head, body), now)
        elif site.send(following, self._marked(following, onward), (body,), datagram_class):
            self.relayed += 1
            self.relayed_bytes += len(body)
        else:
            self._fates["not taken"] += 1

    def send(
        self,
        route: RouteNodes,
        payload: Octets,
        kind: ForwardKind = ForwardKind.PACKET,
        datagram_class: DatagramClass = DatagramClass.FALLBACK,
        hop_limit: int = HOP_LIMIT_MAX,
    ) -> bool:
        """Start a packet of our own along a route that begins here; False when it was not sent."""
        assert route[0] == self.node
        assert ROUTE_MIN <= len(route) <= ROUTE_MAX
        if not 1 <= hop_limit <= HOP_LIMIT_MAX:
            raise UsageError(f"a hop limit is 1 to {HOP_LIMIT_MAX}, not {hop_limit}")
        frame = Forward(route, payload, kind, datagram_class, hop_limit)
        if not self._site.usable(route[1]):
            detoured = self._detoured(frame, at=0)
            if isinstance(detoured, str):
                self._fates[detoured] += 1
                return False
            self._fates["repaired"] += 1
            frame = detoured
        return self._sent(frame)

    def forget(self, neighbour: NodeId) -> None:
        """Forget a neighbour that is gone."""
        self._errors.forget(neighbour)

    def _learn(self, known: bytes, neighbour: NodeId, head: bytes, body: Octets) -> _ForwardingStep:
        frame = Forward.parse(head, body)
        route, cursor = frame.route, frame.cursor
        if route[cursor] != self.node:
            raise ProtocolError("not for this node")
        if route[cursor - 1] != neighbour:
            raise ProtocolError("not from the previous node")
        following, onward, arrival = b"", b"", None
        if cursor + 1 == len(route):
            arrival = Arrival(route, route[::-1], frame.is_marked)
        else:
            following = route[cursor + 1]
            if frame.hop_limit > 1:
                onward = _onward(frame).head()
        if len(self._steps) == STEPS_MAX:
            self._steps.clear()
        step = _ForwardingStep(following, onward, frame.kind, frame.datagram_class, arrival)
        self._steps[known] = step
        return step

    def _relay_around(self, frame: Forward, now: float) -> None:
        """The next node is down or suspect (R8): repair the route; a suspect one may stay in it.

        It looks for a detour at once, not when the link is known to be down.
        """
        detoured = self._detoured(frame, frame.cursor)
        if not isinstance(detoured, str):
            self._fates["repaired"] += 1
            frame = detoured
        elif not self._site.usable(frame.route[frame.cursor + 1]):
            self._fates[detoured] += 1
            self._give_up(frame, PathErrorReason.NO_WAY, now)
            return
        if self._sent(_onward(frame)):
            self.relayed += 1
            self.relayed_bytes += frame.body_size

    def _detoured(self, frame: Forward, at: int) -> Forward | str:
        """The same packet on a route around the node after `at`, our own place in its route.

        That node may be dead, not only the link to it, so the detour touches it only if it is the
        destination itself. Without a detour: why there is none.
        """
        if frame.kind is ForwardKind.PATH_ERROR:
            return "error not repaired"  # it would grow beyond what caused it
        if frame.repairs == REPAIRS_MAX:
            return "repairs used up"
        route, destination = frame.route, frame.route[-1]
        avoid = frozenset(route[:at] + route[at + 1 : at + 2])
        detour = self._site.detour(destination, avoid)
        if detour is None or not self._site.usable(detour[1]):
            return "no detour"
        assert avoid.isdisjoint(detour[:-1])
        if at + len(detour) > ROUTE_MAX:
            return "detour too long"
        return msgspec.structs.replace(frame, route=route[:at] + detour, repairs=frame.repairs + 1)

    def _give_up(self, frame: Forward, reason: PathErrorReason, now: float) -> None:
        """Drop a packet and report it to its origin, in a frame no larger than the packet's."""
        self._fates[f"gave up: {reason.name.lower().replace('_', ' ')}"] += 1
        if frame.kind in _ANSWERS:
            return
        here = frame.cursor
        if not self._errors.take(frame.route[here - 1], now):
            self._fates["error held back"] += 1
            return
        error = PathError(reason, frame.route[here + 1], bytes(frame.payload[:QUOTE_SIZE_MAX]))
        back = Forward(
            frame.route[here::-1],
            error.serialize(),
            ForwardKind.PATH_ERROR,
            DatagramClass.RELIABLE_OK,
        )
        if back.body_size > frame.body_size or not self._site.usable(back.route[1]):
            self._fates["error held back"] += 1
        elif self._sent(back):
            self._fates["error sent"] += 1

    def _marked(self, following: NodeId, head: bytes) -> bytes:
        """The head, marked if there is a standing queue."""
        if not self._site.is_busy(following):
            return head
        self._fates["marked"] += 1
        return marked(head)

    def _sent(self, frame: Forward) -> bool:
        following = frame.route[frame.cursor]
        head = self._marked(following, frame.head())
        taken = self._site.send(following, head, frame.parts(), frame.datagram_class)
        if not taken:
            self._fates["not taken"] += 1
        return taken


def _onward(frame: Forward) -> Forward:
    """The frame for the following node."""
    return msgspec.structs.replace(frame, hop_limit=frame.hop_limit - 1, cursor=frame.cursor + 1)
