"""Gates: where packets enter and leave the process, one class per transport.

    socket ─ bytes ─▶ gate ─ path, packet ─▶ receiver (the endpoint)
    socket ◀─ bytes ─ gate ◀─ path, data ─── receiver

A gate frames, cloaks and counts; it never decides whom to talk to, and sends nothing by itself.
"""

from dataclasses import dataclass
from typing import Protocol

from rookery.wire.link.lob import Packet
from rookery.wire.link.path import Path
from rookery.wire.octets import Octets


class GateReceiver(Protocol):
    """What a gate reports to."""

    def received(self, path: Path, packet: Packet) -> None:
        """One packet came in, deframed and uncloaked."""

    def received_sealed(self, path: Path, body: Octets) -> None:
        """The same for a channel packet, without its empty head: large ones are not copied."""

    def drained(self) -> None:
        """A batch of reads is over: a good moment to send what they led to."""

    def lost(self, path: Path) -> None:
        """A connection is gone, or could not be made."""


class Gate(Protocol):
    """What the receiver sends through."""

    kinds: frozenset[str]  # kinds of path it can send to

    def send(self, path: Path, data: Octets) -> None:
        """Take one serialised packet, dialling if need be; dropped when a bound is reached."""

    def flush(self) -> None:
        """Send what was taken, at once: `send` alone may keep it for others to go with."""

    def hang_up(self, path: Path) -> None:
        """End the connection to `path`, if there is such a thing; it is reported as lost."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """Where others can reach this gate."""

    async def close(self) -> None: ...


@dataclass(slots=True)
class GateCounters:
    """Traffic of a gate, and what it dropped."""

    packets_in: int = 0
    packets_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    dropped: int = 0  # packets not sent: a buffer was full, or the system would not take them
    refused: int = 0  # connections turned away, ended as unfit, or not made
    malformed: int = 0  # packets or streams that made no sense


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """Limits on the resources of a gate's connections."""

    dial_s: float = 10.0  # until a connection is made, and again until packets can be sent
    first_packet_s: float = 10.0  # until an accepted connection has brought a whole packet
    answer_s: float = 60.0  # until the dialled peer has answered
    dials_max: int = 64
    inbound_max: int = 1024
    outbound_max: int = 1024
    dial_queue_size_max: int = 1 << 18  # bytes kept per connection while it is being made
    write_queue_size_max: int = 4 << 20
