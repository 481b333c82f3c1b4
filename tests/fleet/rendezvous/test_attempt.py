"""F9, F10: what the hub tells each of the three fits together, and nobody learns too much."""

import random

from rookery.fleet.rendezvous.attempt import SeatAttempt
from rookery.fleet.rendezvous.placement import ServerLoad
from rookery.fleet.rendezvous.seats import Seats
from rookery.fleet.rendezvous.wish import Wish
from rookery.wire.fleet.messages import ArriveMessage, AttendMessage, decode, encode

CHANCE = random.Random(9).randbytes
SERVER, DEVICE = "s" * 52, "r" * 52
LOAD = ServerLoad(
    SERVER, "192.0.2.7:7", "ws://x/rpc", bytes(294), bytes(32), 9, 0, 0, 0.0, 0.0, 0.0
)
WISH = Wish(7, bytes(6), "ann", 0.0, "hub")


def made() -> SeatAttempt:
    return SeatAttempt.make(WISH, DEVICE, LOAD, 60, CHANCE)


def test_device_and_client_get_in_with_what_they_were_told() -> None:
    attempt = made()
    direct, grant = attempt.direct(), attempt.grant()
    seats = Seats(SERVER, 1, CHANCE)
    seats.reserve(attempt.reserve(), 0.0)
    seats.seat_device(ArriveMessage(direct.seat, direct.ticket), DEVICE, 1.0)
    seats.seat_client(AttendMessage(grant.seat, grant.ticket), 2.0)


def test_the_messages_pass_the_wire() -> None:
    attempt = made()
    for message in (attempt.reserve(), attempt.direct()):
        assert decode(encode(message)) == message


def test_every_attempt_has_its_own_seat_and_tickets() -> None:
    one, other = made(), made()
    assert len({one.seat, other.seat}) == 2
    tickets = {one.device_ticket, one.client_ticket, other.device_ticket, other.client_ticket}
    assert len(tickets) == 4


def test_tickets_do_not_show() -> None:
    attempt = made()
    for ticket in (attempt.device_ticket, attempt.client_ticket):
        assert ticket not in repr(attempt)
        assert ticket not in repr((attempt.reserve(), attempt.direct(), attempt.grant()))
