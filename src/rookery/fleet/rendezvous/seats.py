"""Seats of a server: reserved by hubs, taken by a device and its client.

               reserve          arrive             attend
    (none) ──────────▶ PROMISED ──────▶ OCCUPIED ◀────────▶ ATTENDED
                          │                │      client left   │
                          ▼                ▼                    ▼
                       (none): released, withdrawn, expired, or the device left

    | state    | free again after                                  |
    |----------|---------------------------------------------------|
    | PROMISED | `seconds` of the reservation without the device   |
    | OCCUPIED | `seconds` without the client; `linger_s` if it left |
    | ATTENDED | never by itself                                   |
    | all      | `lease_s` after a hub last said that it is allowed |

The server alone decides whether there is a seat, whatever hubs believe: two hubs that want the last
one ask the same table. A promised seat ends with the connection that reserved it. The first ticket
of each side is from the hub and valid once. A client that was admitted gets another one from here,
to reconnect with, even before the loss of its old connection is noticed.

A seat that was reserved with an authority has a lease: hubs renew it for as long as the authority
holds. They release the seat as soon as it does not; the lease is for when that word is lost.
"""

from collections.abc import Iterable

import msgspec

from rookery.errors import AuthenticationError, CongestionError, ProtocolError
from rookery.fleet.rendezvous import tickets
from rookery.fleet.rendezvous.tickets import SeatSide, Ticket, TicketPurpose
from rookery.identity.cipher_set import RandomBytes
from rookery.wire.fleet.messages import (
    ArriveMessage,
    AttendMessage,
    HoldMessage,
    ReserveMessage,
    WelcomeMessage,
)

LINGER_S = 60.0
LEASE_S = 60.0

NOT_RENEWED = "the hub did not say for too long that this is still allowed"


class FreedSeat(msgspec.Struct, frozen=True):
    """A seat is free again: close the connections that are left, and tell a hub that waits."""

    seat: str
    reason: str
    had_device: bool
    had_client: bool


class SeatHold(msgspec.Struct, frozen=True):
    """One connection's claim to its side of a seat; ended with `leave`."""

    seat: str
    side: SeatSide
    turn: int  # a client that came back has the next one
    client: str  # the account
    welcome: WelcomeMessage  # to be sent


class _Seat(msgspec.Struct):
    mac: bytes
    device: str  # hashname
    client: str  # account
    device_ticket: Ticket
    client_ticket: Ticket
    seconds: float
    deadline: float | None  # None while both sides are there
    authority: bytes = b""
    leased_until: float | None = None  # None: it has no lease
    has_device: bool = False
    has_client: bool = False
    turn: int = 0

    def is_late(self, now: float) -> bool:
        return self.due is not None and now >= self.due

    def is_unrenewed(self, now: float) -> bool:
        return self.leased_until is not None and now >= self.leased_until

    @property
    def due(self) -> float | None:
        """When something of it runs out."""
        times = [time for time in (self.deadline, self.leased_until) if time is not None]
        return min(times, default=None)


class Seats:
    """`seats_max` seats at the server with that hashname."""

    def __init__(
        self,
        server: str,
        seats_max: int,
        random: RandomBytes,
        linger_s: float = LINGER_S,
        lease_s: float = LEASE_S,
    ) -> None:
        self._server = server
        self._seats_max = seats_max
        self._random = random
        self._linger_s = linger_s
        self._lease_s = lease_s
        self._seats: dict[str, _Seat] = {}

    @property
    def seats_max(self) -> int:
        return self._seats_max

    @property
    def used(self) -> int:
        """Seats with a device: what a load report says."""
        return sum(seat.has_device for seat in self._seats.values())

    @property
    def reserved(self) -> int:
        """Seats promised to devices that have not arrived."""
        return len(self._seats) - self.used

    @property
    def free(self) -> int:
        return self._seats_max - len(self._seats)

    @property
    def deadline(self) -> float | None:
        """When to call `expire`; None while no seat has a deadline."""
        return min((due for seat in self._seats.values() if (due := seat.due)), default=None)

    @property
    def held(self) -> list[HoldMessage]:
        """The seats that have a lease."""
        return [
            HoldMessage(name, seat.mac, seat.device, seat.authority)
            for name, seat in self._seats.items()
            if seat.leased_until is not None
        ]

    def reserve(self, reserve: ReserveMessage, now: float) -> None:
        """Keep a seat; CongestionError when there is none, ProtocolError when it exists."""
        if reserve.seat in self._seats:
            raise ProtocolError(f"seat {reserve.seat} is already reserved")
        if self.free <= 0:
            raise CongestionError(f"all {self._seats_max} seats are taken")
        self._seats[reserve.seat] = _Seat(
            reserve.mac,
            reserve.router,
            reserve.client,
            Ticket(self._purpose(reserve, "router"), reserve.router_ticket_hash),
            Ticket(self._purpose(reserve, "client"), reserve.client_ticket_hash),
            reserve.seconds,
            now + reserve.seconds,
            reserve.authority,
            now + self._lease_s if reserve.authority else None,
        )

    def seat_device(self, request: ArriveMessage, device: str, now: float) -> SeatHold:
        """Admit the device with this proved hashname, or raise AuthenticationError."""
        seat = self._seats.get(request.seat)
        if seat is None or seat.is_late(now) or seat.device != device:
            raise AuthenticationError("no seat is kept for this device here")
        if not seat.device_ticket.redeem(request.ticket):
            raise AuthenticationError("not the ticket of this seat, or shown before")
        seat.has_device = True
        seat.deadline = now + seat.seconds
        welcome = WelcomeMessage(request.seat, seat.mac, seat.device)
        return SeatHold(request.seat, "router", 0, seat.client, welcome)

    def seat_client(self, request: AttendMessage, now: float) -> SeatHold:
        """Admit the client, or raise AuthenticationError; its older connection is to be closed."""
        seat = self._seats.get(request.seat)
        if seat is None or seat.is_late(now) or not seat.has_device:
            raise AuthenticationError("no device waits at this seat")
        if not seat.client_ticket.redeem(request.ticket):
            raise AuthenticationError("not the ticket of this seat, or shown before")
        seat.has_client = True
        seat.deadline = None
        seat.turn += 1
        ticket, purpose = tickets.make(self._random), seat.client_ticket.purpose
        seat.client_ticket = Ticket(purpose, tickets.digest(ticket, purpose))
        welcome = WelcomeMessage(request.seat, seat.mac, seat.device, ticket, int(self._linger_s))
        return SeatHold(request.seat, "client", seat.turn, seat.client, welcome)

    def leave(self, hold: SeatHold, now: float) -> FreedSeat | None:
        """A connection is gone; a seat without its device is freed."""
        seat = self._seats.get(hold.seat)
        if seat is None:
            return None
        if hold.side == "router":
            seat.has_device = False
            return self._free(hold.seat, "the router has left")
        if hold.turn == seat.turn:  # else the client is back already
            seat.has_client = False
            seat.deadline = now + self._linger_s
        return None

    def renew(self, seats: Iterable[str], requested_at: float) -> None:
        """A hub confirms these seats, as of the time of the request."""
        for name in seats:
            seat = self._seats.get(name)
            if seat is not None and seat.leased_until is not None:
                seat.leased_until = max(seat.leased_until, requested_at + self._lease_s)

    def release(self, seat: str, reason: str = "") -> FreedSeat | None:
        """The hub does not need or allow it; None when there is no such seat."""
        why = reason or "the hub has released the seat"
        return self._free(seat, why) if seat in self._seats else None

    def withdraw(self, seat: str) -> FreedSeat | None:
        """The hub that reserved it has gone: frees it, unless the device is there already."""
        promised = self._seats.get(seat)
        if promised is None or promised.has_device:
            return None
        return self._free(seat, "the hub has gone")

    def expire(self, now: float) -> list[FreedSeat]:
        """Free the seats whose deadline has passed."""
        late = [name for name, seat in self._seats.items() if seat.is_late(now)]
        return [self._free(name, self._missing(self._seats[name], now)) for name in late]

    def _missing(self, seat: _Seat, now: float) -> str:
        if seat.is_unrenewed(now):
            return NOT_RENEWED
        if not seat.has_device:
            return "the router did not arrive in time"
        return "the client did not come back" if seat.turn else "the client did not come in time"

    def _free(self, name: str, reason: str) -> FreedSeat:
        seat = self._seats.pop(name)
        return FreedSeat(name, reason, seat.has_device, seat.has_client)

    def _purpose(self, reserve: ReserveMessage, side: SeatSide) -> TicketPurpose:
        holder = reserve.router if side == "router" else reserve.client
        return TicketPurpose(side, reserve.seat, self._server, reserve.mac, holder)
