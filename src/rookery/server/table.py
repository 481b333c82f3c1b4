"""Table: what belongs to one seat while it is taken, and what remains to be said of it after."""

import asyncio
from collections.abc import Callable
from typing import Protocol

import msgspec

from rookery.fleet.rpc_relay import RpcRelay
from rookery.wire.fleet_messages import FaultCode, Message, Reserve
from rookery.wire.mac import mac_text

Tell = Callable[[Message], None]


class Peer(Protocol):
    """The connection of a router or a client."""

    def send(self, message: bytes) -> None:
        """One JSON-RPC message; never blocks."""

    async def drained(self) -> None:
        """Wait until it has taken most of what was sent, or is gone."""

    def dismiss(self, code: FaultCode, text: str) -> None:
        """Tell it why, and close."""

    def abort(self) -> None:
        """Close at once, whatever it has not taken."""


class Ended(msgspec.Struct, frozen=True):
    """A seat is free again."""

    seat: str
    who: str
    router: str  # MAC
    seconds: float  # since it was reserved
    reason: str
    sent_bytes: int  # to the router
    received_bytes: int


class Table:
    """A relay, up to two peers, and the hub that reserved the seat."""

    def __init__(self, reserve: Reserve, relay: RpcRelay, hub: Tell, now: float) -> None:
        self._reserve = reserve
        self._opened_at = now
        self.relay = relay
        self.hub = hub
        self.router: Peer | None = None
        self.client: Peer | None = None
        self.was_attended = False
        self.timer: asyncio.TimerHandle | None = None
        self.sent_bytes = self.received_bytes = 0  # to and from the router

    def ended(self, reason: str, now: float) -> Ended:
        """The seat is free again."""
        reserve = self._reserve
        return Ended(
            reserve.seat,
            reserve.client,
            mac_text(reserve.mac),
            now - self._opened_at,
            reason,
            self.sent_bytes,
            self.received_bytes,
        )
