"""Echoes: whether a node can be reached along a route, and how long that takes (ping, trace).

    ask ─▶ request along the route ─▶ the destination ─▶ reply on the way back ─▶ Echoed
                       └▶ a relay that gives it up    ─▶ path error            ─▶ EchoFailed
                       └▶ nothing for 5 s                                      ─▶ EchoLost

A trace asks with hop limits 1, 2, 3, …: each relay in turn gives the request up and tells so.
"""

from typing import Protocol

import msgspec

from rookery.errors import CongestionError, ProtocolError, UnreachableError, UsageError
from rookery.identity.cipher_set import RandomBytes
from rookery.link.token_bucket import TokenBuckets
from rookery.mesh.routing.forwarding import RouteNodes
from rookery.wire.mesh.echo import HELD_MAX_US, REQUEST_SIZE_MIN, TOKEN_SIZE, EchoReply, EchoRequest
from rookery.wire.mesh.forward import (
    HOP_LIMIT_MAX,
    DatagramClass,
    ForwardKind,
    PathError,
    PathErrorReason,
)
from rookery.wire.mesh.node_id import NodeId

TIMEOUT_S = 5.0
OUTSTANDING_MAX = 256
SIZE_MAX = 1 << 16

_OUTCOMES_MAX = 1024  # until a program takes them
_REPLIES_PER_S = 32.0
_REPLIES_BURST = 64.0


class EchoSender(Protocol):
    """`Forwarder.send`."""

    def __call__(
        self,
        route: RouteNodes,
        payload: bytes,
        kind: ForwardKind,
        datagram_class: DatagramClass,
        hop_limit: int,
    ) -> bool: ...


class Echoed(msgspec.Struct, frozen=True):
    """The destination answered; `back` is the route its reply took."""

    token: bytes
    route: RouteNodes
    back: RouteNodes
    rtt_s: float  # without what the destination held it
    held_s: float


class EchoFailed(msgspec.Struct, frozen=True):
    """A relay gave the request up before `failed`."""

    token: bytes
    route: RouteNodes
    back: RouteNodes  # begins with that relay
    reason: PathErrorReason
    failed: NodeId
    rtt_s: float


class EchoLost(msgspec.Struct, frozen=True):
    """Neither a reply nor an error arrived in time."""

    token: bytes
    route: RouteNodes


EchoOutcome = Echoed | EchoFailed | EchoLost


class _PendingEcho(msgspec.Struct, frozen=True):
    route: RouteNodes
    at: float


class Echoes:
    """The pending requests of one node, and its replies to others."""

    __slots__ = ("_pending", "_random", "_replies", "_send", "outcomes", "replied", "unexpected")

    def __init__(self, send: EchoSender, random: RandomBytes) -> None:
        self.replied = 0
        self.unexpected = 0  # answers to nothing, or too late
        self._send = send
        self._random = random
        self._pending: dict[bytes, _PendingEcho] = {}  # oldest first
        self.outcomes: list[EchoOutcome] = []
        self._replies = TokenBuckets(_REPLIES_PER_S, _REPLIES_BURST)

    def ask(
        self,
        route: RouteNodes,
        now: float,
        *,
        hop_limit: int = HOP_LIMIT_MAX,
        size: int = REQUEST_SIZE_MIN,
        datagram_class: DatagramClass = DatagramClass.FALLBACK,
    ) -> bytes:
        """Send a request; its token, which its outcome has as well.

        A size that is too small for what the reply may grow to becomes large enough.
        """
        if size > SIZE_MAX:
            raise UsageError(f"an echo is of at most {SIZE_MAX} bytes, not {size}")
        if len(self._pending) == OUTSTANDING_MAX:
            raise CongestionError(f"{OUTSTANDING_MAX} echoes are under way")
        token = self._random(TOKEN_SIZE)
        request = EchoRequest(token, max(size, REQUEST_SIZE_MIN)).serialize()
        if not self._send(route, request, ForwardKind.ECHO_REQUEST, datagram_class, hop_limit):
            raise UnreachableError("no neighbour takes the echo")
        self._pending[token] = _PendingEcho(route, now)
        return token

    def requested(
        self, route: RouteNodes, payload: bytes, now: float, arrived: float | None = None
    ) -> None:
        """Answer a request, within the rate limit of the neighbour that it came from."""
        request = EchoRequest.parse(payload)
        if not self._replies.take(route[-2], now):
            raise ProtocolError("too many echo requests")
        held_s = 0.0 if arrived is None else max(0.0, now - arrived)
        reply = EchoReply(request.token, min(round(held_s * 1e6), HELD_MAX_US)).serialize()
        back = route[::-1]
        if self._send(back, reply, ForwardKind.ECHO_REPLY, DatagramClass.FALLBACK, HOP_LIMIT_MAX):
            self.replied += 1

    def replied_to(self, route: RouteNodes, payload: bytes, now: float) -> None:
        """Take a reply; RemoteError when it does not fit the request."""
        reply = EchoReply.parse(payload)
        pending = self._pending.get(reply.token)
        if pending is None:
            self.unexpected += 1
            return
        if route[0] != pending.route[-1]:
            raise ProtocolError("echo reply from another node")
        held_s = reply.held_us / 1e6
        elapsed_s = now - pending.at
        if held_s > elapsed_s:
            raise ProtocolError("echo held longer than it took")
        del self._pending[reply.token]
        self._end(Echoed(reply.token, pending.route, route, elapsed_s - held_s, held_s))

    def gave_up(self, route: RouteNodes, error: PathError, now: float) -> None:
        """A path error, perhaps about one of our requests: it quotes the token."""
        pending = self._pending.pop(error.quote, None)
        if pending is not None:
            rtt_s = now - pending.at
            self._end(
                EchoFailed(error.quote, pending.route, route, error.reason, error.failed, rtt_s)
            )

    @property
    def deadline(self) -> float | None:
        """When `tick` has something to do."""
        oldest = next(iter(self._pending.values()), None)
        return None if oldest is None else oldest.at + TIMEOUT_S

    def tick(self, now: float) -> None:
        while (deadline := self.deadline) is not None and deadline <= now:
            token = next(iter(self._pending))
            self._end(EchoLost(token, self._pending.pop(token).route))

    def take(self) -> list[EchoOutcome]:
        """Outcomes of requests since the last call, in order."""
        taken, self.outcomes = self.outcomes, []
        return taken

    def forget(self, neighbour: NodeId) -> None:
        """Forget a neighbour that is gone."""
        self._replies.forget(neighbour)

    def _end(self, outcome: EchoOutcome) -> None:
        if len(self.outcomes) < _OUTCOMES_MAX:
            self.outcomes.append(outcome)
