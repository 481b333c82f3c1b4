"""Bounds on what others can make a gate of connections hold."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """Bounds on what others can make a gate hold."""

    dial_s: float = 10.0  # until a connection is made, and again until packets can be sent
    first_packet_s: float = 10.0  # until an accepted connection has brought a whole packet
    answer_s: float = 60.0  # until whoever was dialled has answered
    dials_max: int = 64
    inbound_max: int = 1024
    outbound_max: int = 1024
    dial_queue_size_max: int = 1 << 18  # bytes kept per connection while it is being made
    write_queue_size_max: int = 4 << 20
