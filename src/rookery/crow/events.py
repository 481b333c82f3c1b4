"""What the crow core tells its shell. Facts are past tense, `Transmit` is the one order."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NewType

import msgspec

from rookery.wire.crow_packet import Packet

if TYPE_CHECKING:
    from rookery.crow.channel import Channel
    from rookery.crow.msgbox import Query


# Stands for one message under way; its outcome is told by it.
Ticket = NewType("Ticket", int)


class Transmit(msgspec.Struct, frozen=True, gc=False):
    """Send this packet through this gate, whose argument begins at `address[stage + 1]`."""

    gate: int
    packet: Packet


# Packets through one gate, in order; what the shell of a busy tower takes instead.
Transmissions = tuple[int, list[Packet]]


def transmits(all_gates: Iterable[Transmissions]) -> list[Transmit]:
    """The same, one by one."""
    return [Transmit(gate, packet) for gate, packets in all_gates for packet in packets]


class Arrived(msgspec.Struct, frozen=True, gc=False):
    """A packet came to the end of its route."""

    packet: Packet  # as it came to the last gate
    return_address: bytes


class Delivered(msgspec.Struct, frozen=True, gc=False):
    """The tower at the end of the route has the message."""

    ticket: Ticket


class Undelivered(msgspec.Struct, frozen=True, gc=False):
    """Nobody has confirmed the message; it may have arrived all the same."""

    ticket: Ticket
    reason: str


class NodeMessage(msgspec.Struct, frozen=True, gc=False):
    """A whole message came for one of our nodes."""

    sid: int  # the node it is from
    rid: int  # ours
    return_address: bytes
    data: bytes
    qos: int
    ackquant_ms: int  # of its packet, or of the last one to come


class NodeRefused(msgspec.Struct, frozen=True, gc=False):
    """What our node sent met no such node there."""

    node: int  # ours
    sid: int  # the one that is missing
    return_address: bytes
    code: int


class ChannelOpened(msgspec.Struct, frozen=True):
    """A channel that we dialled or accepted may be used."""

    channel: "Channel"


class ChannelChanged(msgspec.Struct, frozen=True):
    """There is something to read, room to write, or the channel is closed."""

    channel: "Channel"


class Answered(msgspec.Struct, frozen=True):
    """A query has its reply."""

    query: "Query"
    data: bytes


class Unanswered(msgspec.Struct, frozen=True):
    """A query will not get a reply."""

    query: "Query"
    reason: str


TowerNotice = Arrived | Delivered | Undelivered
TowerEvent = Transmit | TowerNotice
Notice = (
    TowerNotice | NodeMessage | NodeRefused | ChannelOpened | ChannelChanged | Answered | Unanswered
)
Event = Transmit | Notice
