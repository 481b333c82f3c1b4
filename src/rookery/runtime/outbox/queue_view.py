"""Queues: an outbox as the control socket and the metrics see it."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rookery.errors import UsageError
from rookery.runtime.node.members import NodeName
from rookery.runtime.outbox.rows import QueueRow, RequestRow

if TYPE_CHECKING:  # a node may never need an outbox, and so not load one
    from rookery.outbox.peer import OutboxPeer
    from rookery.outbox.request import OutboxRequest
    from rookery.runtime.outbox.outbox import AsyncOutbox


class QueueView:
    """`outbox` is asked for it when somebody looks; `name_of` gives a hashname its name."""

    def __init__(
        self, outbox: "Callable[[], AsyncOutbox]", name_of: Callable[[str], NodeName]
    ) -> None:
        self._outbox = outbox
        self._name_of = name_of

    @property
    def outbox(self) -> "AsyncOutbox":
        return self._outbox()

    def rows(self) -> Iterator[QueueRow]:
        """One for each peer that has or had anything to do with us."""
        for peer in list(self.outbox.core.peers.values()):
            if peer.count or peer.sessions:
                yield self._row(peer)

    def _row(self, peer: "OutboxPeer") -> QueueRow:
        limits = self.outbox.core.limits
        return QueueRow(
            node=self._name_of(peer.host),
            requests=peer.count,
            requests_max=limits.peer_requests_max,
            bytes=peer.bytes,
            bytes_max=limits.peer_bytes_max,
            states=dict(Counter(request.state.value for request in peer.requests())),
            is_in_session=peer.session is not None,
            sessions=peer.sessions,
            is_alarmed=peer.is_alarmed,
            last_error="" if peer.session is not None else self.outbox.last_error(peer),
        )

    def requests(self, host: str) -> Iterator[RequestRow]:
        """Oldest first; UnreachableError when there is no such peer."""
        for request in list(self.outbox.peer(host).requests()):
            yield self._request(request, host)

    def add(self, host: str, payload: bytes, qos: int, expires_s: float | None) -> RequestRow:
        """Queue one, and let it be; CongestionError at a bound."""
        request = self.outbox.request(payload, qos=qos, expires_s=expires_s)
        try:
            self.outbox.peer(host).add_packet(request)
            return self._request(request, host)
        finally:
            request.release()

    def cancel(self, host: str, id_: int | None) -> Iterator[RequestRow]:
        """One, or all that are not being written; each as it then is."""
        requests = [one for one in self.outbox.peer(host).requests() if id_ in (None, one.id)]
        if id_ is not None and not requests:
            raise UsageError(f"no request {id_} waits for {self._name_of(host)}")
        for request in requests:
            is_cancelled = request.set_invalid()
            if id_ is not None and not is_cancelled:
                raise UsageError(f"too late: request {id_} may have been written already")
            if is_cancelled:
                yield self._request(request, host, state="cancelled")

    def _request(self, request: "OutboxRequest", host: str, state: str | None = None) -> RequestRow:
        expires_at = request.expires_at
        return RequestRow(
            node=self._name_of(host),
            id=request.id,
            state=state or request.state.value,
            qos=request.qos,
            bytes=len(request.payload),
            wants_reply=request.wants_reply,
            expires_in_s=None if expires_at is None else round(expires_at - time.monotonic(), 3),
            is_begun=request.has_begun,
        )
