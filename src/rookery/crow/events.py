"""What the crow core tells its shell. Facts are past tense, `CrowTransmit` is the one order.

The commonest of them are in `packet_events`.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from rookery.crow.packet_events import MessageDelivered, NodeMessage, PacketArrived, Ticket
from rookery.wire.crow.packet import CrowPacket

if TYPE_CHECKING:
    from rookery.crow.nodes.channel import NodeChannel
    from rookery.crow.nodes.message_box import NodeQuery


class CrowTransmit(msgspec.Struct, frozen=True, gc=False):
    """Send this packet through this gate, whose argument begins at `address[stage + 1]`."""

    gate: int
    packet: CrowPacket


# Packets through one gate, in order; what the shell of a busy tower takes instead.
Transmissions = tuple[int, list[CrowPacket]]


def transmits(all_gates: Iterable[Transmissions]) -> list[CrowTransmit]:
    """The same, one by one."""
    return [CrowTransmit(gate, packet) for gate, packets in all_gates for packet in packets]


class MessageUndelivered(msgspec.Struct, frozen=True, gc=False):
    """The message was not confirmed; it may have arrived all the same."""

    ticket: Ticket
    reason: str


class NodeRefused(msgspec.Struct, frozen=True, gc=False):
    """What our node sent met no such node there."""

    node: int  # ours
    sid: int  # the one that is missing
    return_address: bytes
    code: int


class CrowChannelOpened(msgspec.Struct, frozen=True):
    """A channel that we dialled or accepted may be used."""

    channel: "NodeChannel"


class CrowChannelChanged(msgspec.Struct, frozen=True):
    """There is something to read, room to write, or the channel is closed."""

    channel: "NodeChannel"


class QueryAnswered(msgspec.Struct, frozen=True):
    """A query has its reply."""

    query: "NodeQuery"
    data: bytes


class QueryUnanswered(msgspec.Struct, frozen=True):
    """A query will not get a reply."""

    query: "NodeQuery"
    reason: str


TowerNotice = PacketArrived | MessageDelivered | MessageUndelivered
TowerEvent = CrowTransmit | TowerNotice
Notice = (
    TowerNotice
    | NodeMessage
    | NodeRefused
    | CrowChannelOpened
    | CrowChannelChanged
    | QueryAnswered
    | QueryUnanswered
)
Event = CrowTransmit | Notice
