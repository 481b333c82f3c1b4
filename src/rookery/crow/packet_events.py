"""The events that nearly every packet leads to; `events` has the rest.

Apart from the others, so that they can be compiled.
"""

from typing import ClassVar, Final, NewType

from rookery.wire.crow.packet import CrowPacket

# Identifies one message in flight; outcomes refer to it.
Ticket = NewType("Ticket", int)


class PacketArrived:
    """A packet came to the end of its route."""

    __slots__ = ("packet", "return_address")
    __match_args__: ClassVar[tuple[str, str]] = ("packet", "return_address")

    def __init__(self, packet: CrowPacket, return_address: bytes) -> None:
        self.packet: Final = packet  # as it came to the last gate
        self.return_address: Final = return_address

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PacketArrived) and self._fields == other._fields

    def __hash__(self) -> int:
        return hash(self._fields)

    def __repr__(self) -> str:
        return f"PacketArrived{self._fields}"

    @property
    def _fields(self) -> tuple[CrowPacket, bytes]:
        return self.packet, self.return_address


class MessageDelivered:
    """The tower at the end of the route has the message."""

    __slots__ = ("ticket",)
    __match_args__: ClassVar[tuple[str]] = ("ticket",)

    def __init__(self, ticket: Ticket) -> None:
        self.ticket: Final = ticket

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MessageDelivered) and self.ticket == other.ticket

    def __hash__(self) -> int:
        return hash(self.ticket)

    def __repr__(self) -> str:
        return f"MessageDelivered({self.ticket})"


class NodeMessage:
    """A whole message came for one of our nodes."""

    __slots__ = ("ackquant_ms", "data", "qos", "return_address", "rid", "sid")

    def __init__(
        self, sid: int, rid: int, return_address: bytes, data: bytes, qos: int, ackquant_ms: int
    ) -> None:
        self.sid: Final = sid  # the node it is from
        self.rid: Final = rid  # ours
        self.return_address: Final = return_address
        self.data: Final = data
        self.qos: Final = qos
        self.ackquant_ms: Final = ackquant_ms  # of its packet, or of the last one to come

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeMessage) and self._fields == other._fields

    def __hash__(self) -> int:
        return hash(self._fields)

    def __repr__(self) -> str:
        return f"NodeMessage{self._fields}"

    @property
    def _fields(self) -> tuple[int, int, bytes, bytes, int, int]:
        return self.sid, self.rid, self.return_address, self.data, self.qos, self.ackquant_ms
