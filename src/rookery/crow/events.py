"""What the crow core tells its shell. Facts are past tense, `Transmit` is the one order.

The commonest of them are in `notices`.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from rookery.crow.notices import Arrived, Delivered, NodeMessage, Ticket
from rookery.wire.crow_packet import Packet

if TYPE_CHECKING:
    from rookery.crow.channel import Channel
    from rookery.crow.msgbox import Query


class Transmit(msgspec.Struct, frozen=True, gc=False):
    """Send this packet through this gate, whose argument begins at `address[stage + 1]`."""

    gate: int
    packet: Packet


# Packets through one gate, in order; what the shell of a busy tower takes instead.
Transmissions = tuple[int, list[Packet]]


def transmits(all_gates: Iterable[Transmissions]) -> list[Transmit]:
    """The same, one by one."""
    return [Transmit(gate, packet) for gate, packets in all_gates for packet in packets]


class Undelivered(msgspec.Struct, frozen=True, gc=False):
    """Nobody has confirmed the message; it may have arrived all the same."""

    ticket: Ticket
    reason: str


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
