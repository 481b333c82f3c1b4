"""One attempt of a rendezvous: a seat at one server, and the tickets for its two sides."""

from typing import Self

import msgspec

from rookery.fleet.rendezvous import tickets
from rookery.fleet.rendezvous.placement import ServerLoad
from rookery.fleet.rendezvous.tickets import TicketPurpose
from rookery.fleet.rendezvous.wish import Grant, Wish
from rookery.identity.cipher_set import RandomBytes
from rookery.wire import base32
from rookery.wire.fleet import messages
from rookery.wire.fleet.mac import mac_text

_SEAT_SIZE = 10


class SeatAttempt(msgspec.Struct, frozen=True):
    """What the hub tells server, device and client; each learns its own part alone."""

    wish: Wish
    device: str  # hashname
    server: ServerLoad
    seat: str
    device_ticket: str
    client_ticket: str
    seconds: int

    @classmethod
    def make(
        cls, wish: Wish, device: str, server: ServerLoad, seconds: int, random: RandomBytes
    ) -> Self:
        seat = base32.encode(random(_SEAT_SIZE))
        return cls(wish, device, server, seat, tickets.make(random), tickets.make(random), seconds)

    def reserve(self) -> messages.ReserveMessage:
        """For the server, which may recognise the tickets but not use them."""
        wish, server = self.wish, self.server.hashname
        for_device = TicketPurpose("router", self.seat, server, wish.mac, self.device)
        for_client = TicketPurpose("client", self.seat, server, wish.mac, wish.client)
        return messages.ReserveMessage(
            self.seat,
            wish.mac,
            self.device,
            wish.client,
            tickets.digest(self.device_ticket, for_device),
            tickets.digest(self.client_ticket, for_client),
            self.seconds,
            wish.authority,
            list(wish.expected),
        )

    def direct(self) -> messages.DirectMessage:
        """For the device."""
        server = self.server
        address = messages.ServerAddress(
            server.hashname, server.tcp, server.key2a, server.digest40, server.key40
        )
        return messages.DirectMessage(self.wish.id, self.seat, address, self.device_ticket)

    def grant(self) -> Grant:
        """For the client."""
        server = self.server
        return Grant(
            self.seat,
            self.client_ticket,
            server.hashname,
            server.tcp,
            server.ws,
            server.key2a,
            server.digest40,
            self.seconds,
            mac_text(self.wish.mac),
            server.key40,
        )

    def __repr__(self) -> str:
        return f"SeatAttempt(seat={self.seat!r}, server={self.server.hashname!r})"
