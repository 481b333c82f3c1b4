"""Tickets: one-time proofs that the holder may take the device's or the client's side of a seat.

    ticket = 32 characters of base32: 160 random bits
    hash   = BLAKE2s(person "rkTicket", ticket ‖ side ‖ seat ‖ server ‖ mac ‖ holder)

each field behind its length in four bytes. The hub makes the ticket and gives it to one holder;
the server gets the hash alone. As the hash names seat, server, device and holder, the ticket is
worth nothing anywhere else, and nothing that a server holds opens another one.
"""

from hashlib import blake2s
from hmac import compare_digest
from typing import Literal

import msgspec

from rookery.identity.cipher_set import RandomBytes
from rookery.wire import base32

_RANDOM_SIZE = 20

SeatSide = Literal["router", "client"]


class TicketPurpose(msgspec.Struct, frozen=True):
    """What a ticket is for: side, seat, server, device and holder."""

    side: SeatSide
    seat: str
    server: str  # hashname
    mac: bytes
    holder: str  # a device's hashname, or the name of a client's account


class Ticket(msgspec.Struct):
    """The server's half: recognises a ticket and accepts it once."""

    purpose: TicketPurpose
    digest: bytes
    is_used: bool = False

    def redeem(self, ticket: str) -> bool:
        """Whether this is the ticket, shown for the first time."""
        is_right = compare_digest(digest(ticket, self.purpose), self.digest)
        if not is_right or self.is_used:
            return False
        self.is_used = True
        return True


def make(random: RandomBytes) -> str:
    """A new ticket for one holder."""
    return base32.encode(random(_RANDOM_SIZE))


def digest(ticket: str, purpose: TicketPurpose) -> bytes:
    """What a server may know of a ticket before it is shown."""
    hashed = blake2s(person=b"rkTicket")
    fields = (ticket, purpose.side, purpose.seat, purpose.server, purpose.mac, purpose.holder)
    for field in fields:
        octets = field if isinstance(field, bytes) else field.encode("utf-8", "surrogatepass")
        hashed.update(len(octets).to_bytes(4, "big") + octets)
    return hashed.digest()
