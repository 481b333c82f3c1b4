"""Outbox: the peers of one node, the pool of their requests, and one wake-up for all of them."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from rookery.errors import UnreachableError, UsageError
from rookery.outbox.ledger import Ledger, RequestNumbering
from rookery.outbox.limits import OutboxLimits
from rookery.outbox.lists import RequestExpiry
from rookery.outbox.peer import OutboxPeer, OutboxPeerContext
from rookery.outbox.pool import Guard, RequestPool
from rookery.outbox.request import OutboxRequest
from rookery.outbox.state import RequestState

LIMITS = OutboxLimits()

OnEnded = Callable[[OutboxPeer, list[OutboxRequest]], object]  # requests that ended alike


class OutboxAlarm(msgspec.Struct, frozen=True):
    """A peer's bound is near, or not any more."""

    host: str
    is_on: bool
    requests: int
    requests_max: int
    bytes: int
    bytes_max: int


class Outbox:
    """`wake` is called from any thread, once until `process` has run."""

    def __init__(
        self,
        hashname: bytes,
        *,
        limits: OutboxLimits = LIMITS,
        guard: Guard | None = None,
        wake: Callable[[], object],
        ledger: Ledger | None = None,
    ) -> None:
        self.limits = limits
        self.pool = RequestPool(limits, guard)
        self.totals: Counter[RequestState] = Counter()  # requests that ended, by how
        self.alarms: deque[OutboxAlarm] = deque(maxlen=1024)  # taken by the shell
        self.on_ended: OnEnded | None = None
        self._peers: dict[str, OutboxPeer] = {}
        self._expiry = RequestExpiry()
        self._stirred: deque[OutboxPeer] = deque()
        self._is_waking = False
        self._wake = wake
        self._context = OutboxPeerContext(
            hashname, limits, self.pool.guard, self._expiry, self._stir, self._ended, ledger
        )

    # --- from any thread ---

    def peer(self, host: str) -> OutboxPeer:
        """UnreachableError when there is none: it may just have been removed."""
        peer = self._peers.get(host)
        if peer is None:
            raise UnreachableError(f"{host[:8]} is no peer of this outbox")
        return peer

    def _stir(self, peer: OutboxPeer) -> None:
        with self.pool.guard:
            self._stirred.append(peer)
            is_first, self._is_waking = not self._is_waking, True
        if is_first:
            self._wake()

    # --- from the loop's thread ---

    @property
    def peers(self) -> Mapping[str, OutboxPeer]:
        return self._peers

    def add_peer(self, host: str, numbering: RequestNumbering) -> OutboxPeer:
        """Epoch and memory must be new, or those of the same peer before a restart."""
        if host in self._peers:
            raise UsageError(f"{host[:8]} is a peer already")
        peer = OutboxPeer(host, numbering, self._context)
        self._peers = {**self._peers, host: peer}  # other threads may be looking one up
        return peer

    def remove_peer(self, host: str, now: float) -> None:
        """All its requests fail; UnreachableError when there is none."""
        peer = self.peer(host)
        self._peers = {name: other for name, other in self._peers.items() if name != host}
        peer.remove(now)

    def process(self, now: float) -> Iterable[OutboxPeer]:
        """Process what `wake` announced; returns the peers that had something new."""
        with self.pool.guard:
            stirred, self._stirred = self._stirred, deque()
            self._is_waking = False
        for peer in stirred:
            peer.process_packet_queue(now)
            self._look_at_bounds(peer)
        return stirred

    @property
    def deadline(self) -> float | None:
        """When `tick` has something to do."""
        return self._expiry.deadline

    def tick(self, now: float) -> None:
        for request in self._expiry.take_due(now):
            holder = request.holder
            assert isinstance(holder, OutboxPeer)
            holder.expired(request)

    def requests(self) -> Iterator[OutboxRequest]:
        for peer in self._peers.values():
            yield from peer.requests()

    def _ended(self, peer: OutboxPeer, requests: list[OutboxRequest]) -> None:
        if requests:
            self.totals[requests[0].state] += len(requests)
        if peer.is_alarmed:
            self._look_at_bounds(peer)
        if self.on_ended is not None:
            self.on_ended(peer, requests)
        for request in requests:
            if request.watcher is not None:
                request.watcher(request)

    def _look_at_bounds(self, peer: OutboxPeer) -> None:
        limits = self.limits
        used = max(peer.count / limits.peer_requests_max, peer.bytes / limits.peer_bytes_max)
        if used >= limits.alarm_ratio if not peer.is_alarmed else used < limits.calm_ratio:
            peer.is_alarmed = not peer.is_alarmed
            self.alarms.append(
                OutboxAlarm(
                    peer.host,
                    peer.is_alarmed,
                    peer.count,
                    limits.peer_requests_max,
                    peer.bytes,
                    limits.peer_bytes_max,
                )
            )
