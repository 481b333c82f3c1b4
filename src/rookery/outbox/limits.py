"""Limits: how much an outbox holds, sends ahead and takes in."""

from typing import Final

import msgspec

from rookery.wire.outbox.frames import PAYLOAD_SIZE_MAX

REQUEST_OVERHEAD: Final = 512  # bytes that a queued request takes besides its payload, rounded up


class OutboxLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can grow has its bound here."""

    pool_bytes_max: int = 256 << 20  # of all requests alive, overhead included
    peer_requests_max: int = 100_000  # queued or in flight to one peer
    peer_bytes_max: int = 64 << 20
    payload_size_max: int = PAYLOAD_SIZE_MAX
    session_queue_max: int = 256  # requests that wait in a session rather than in the working list
    window_requests: int = 4096  # written and unacknowledged, as we take them
    window_bytes: int = 4 << 20
    alarm_ratio: float = 0.8  # share of a peer's bound that raises an alarm
    calm_ratio: float = 0.6  # and tell again when it is below this
