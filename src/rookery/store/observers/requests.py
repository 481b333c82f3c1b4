"""Outbox observer: requests that met their fate, for the lake."""

import time
from typing import TYPE_CHECKING

from rookery.store.observers.observer import Observer, wall_ms
from rookery.wire.observation_content import EndedRequest

if TYPE_CHECKING:  # a node creates its outbox when it is first used
    from rookery.outbox.outbox import OnEnded
    from rookery.outbox.peer import OutboxPeer
    from rookery.outbox.request import OutboxRequest


def request_observer(node: str, observer: Observer) -> "OnEnded":
    """The callback for an outbox; `node` is the hashname of the requests' origin."""

    def ended(peer: "OutboxPeer", requests: "list[OutboxRequest]") -> None:
        now_ms, now = wall_ms(), time.monotonic()
        for request in requests:
            made_at = request.made_at or now  # made before the observer was there
            seen = EndedRequest(
                t=now_ms,
                node=node,
                peer=peer.host,
                number=request.id,
                size=len(request.payload),
                submitted_at=now_ms - round((now - made_at) * 1000),
                ended_at=now_ms,
                fate=request.state.value,
                attempts=request.attempts,
            )
            observer.note(seen)

    return ended
