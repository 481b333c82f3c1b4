"""F9, F10, F11: a server's seats, for one device and one client each."""

import random

import msgspec
import pytest

from rookery.errors import AuthenticationError, CongestionError, ProtocolError
from rookery.fleet.rendezvous import tickets
from rookery.fleet.rendezvous.seats import NOT_RENEWED, FreedSeat, Seats
from rookery.fleet.rendezvous.tickets import TicketPurpose
from rookery.wire.fleet.messages import ArriveMessage, AttendMessage, HoldMessage, ReserveMessage

CHANCE = random.Random(3).randbytes
SERVER, DEVICE, OTHER = "s" * 52, "r" * 52, "o" * 52
MAC = bytes.fromhex("02fc00000001")
SECONDS, LINGER_S = 60, 30.0


def reserve(seat: str = "seat", client: str = "ann", server: str = SERVER) -> ReserveMessage:
    """With the names of the two sides as tickets, so that tests can show them."""
    device_purpose = TicketPurpose("router", seat, server, MAC, DEVICE)
    client_purpose = TicketPurpose("client", seat, server, MAC, client)
    return ReserveMessage(
        seat,
        MAC,
        DEVICE,
        client,
        tickets.digest("router ticket", device_purpose),
        tickets.digest("client ticket", client_purpose),
        SECONDS,
    )


def new_seats(seats_max: int = 2) -> Seats:
    return Seats(SERVER, seats_max, CHANCE, LINGER_S)


def reserved() -> Seats:
    seats = new_seats()
    seats.reserve(reserve(), 0.0)
    return seats


def occupied() -> Seats:
    seats = reserved()
    seats.seat_device(ArriveMessage("seat", "router ticket"), DEVICE, 1.0)
    return seats


def test_a_seat_is_promised_then_occupied_then_free_again() -> None:
    seats = new_seats()
    assert (seats.used, seats.reserved, seats.free, seats.seats_max) == (0, 0, 2, 2)
    seats.reserve(reserve(), 0.0)
    assert (seats.used, seats.reserved, seats.free) == (0, 1, 1)
    hold = seats.seat_device(ArriveMessage("seat", "router ticket"), DEVICE, 1.0)
    assert (seats.used, seats.reserved, seats.free) == (1, 0, 1)
    assert (hold.welcome.mac, hold.welcome.router, hold.client) == (MAC, DEVICE, "ann")
    assert seats.leave(hold, 2.0) == FreedSeat("seat", "the router has left", False, False)
    assert (seats.used, seats.reserved, seats.free) == (0, 0, 2)


def test_no_seat_is_given_twice() -> None:
    """Two hubs that want the last seat ask the same table; one of them hears no."""
    seats = new_seats(1)
    seats.reserve(reserve("one"), 0.0)
    with pytest.raises(CongestionError, match="all 1 seats are taken"):
        seats.reserve(reserve("two"), 0.0)
    assert seats.used + seats.reserved == 1


def test_a_seat_that_exists_is_not_reserved_anew() -> None:
    seats = reserved()
    with pytest.raises(ProtocolError):
        seats.reserve(reserve(), 1.0)


@pytest.mark.parametrize(
    ("arrive", "device"),
    [
        (ArriveMessage("seat", "router ticket"), OTHER),
        (ArriveMessage("seat", "client ticket"), DEVICE),
        (ArriveMessage("seat", ""), DEVICE),
        (ArriveMessage("other", "router ticket"), DEVICE),
    ],
    ids=["another router", "the client's ticket", "no ticket", "another seat"],
)
def test_only_the_announced_device_arrives(arrive: ArriveMessage, device: str) -> None:
    seats = reserved()
    with pytest.raises(AuthenticationError):
        seats.seat_device(arrive, device, 1.0)
    assert seats.reserved == 1
    seats.seat_device(ArriveMessage("seat", "router ticket"), DEVICE, 1.0)


def test_a_ticket_for_another_server_is_worth_nothing_here() -> None:
    seats = new_seats()
    seats.reserve(reserve(server=OTHER), 0.0)
    with pytest.raises(AuthenticationError):
        seats.seat_device(ArriveMessage("seat", "router ticket"), DEVICE, 1.0)


def test_a_device_arrives_once() -> None:
    seats = occupied()
    with pytest.raises(AuthenticationError):
        seats.seat_device(ArriveMessage("seat", "router ticket"), DEVICE, 1.0)


def test_a_client_attends_where_its_device_is() -> None:
    seats = occupied()
    hold = seats.seat_client(AttendMessage("seat", "client ticket"), 2.0)
    assert (hold.side, hold.welcome.mac, hold.welcome.seconds) == ("client", MAC, 30)
    assert seats.deadline is None
    assert seats.expire(1e9) == []


@pytest.mark.parametrize("ticket", ["router ticket", "", "x"])
def test_a_client_without_its_ticket_is_refused(ticket: str) -> None:
    seats = occupied()
    with pytest.raises(AuthenticationError):
        seats.seat_client(AttendMessage("seat", ticket), 2.0)
    seats.seat_client(AttendMessage("seat", "client ticket"), 2.0)


def test_a_client_cannot_come_before_its_device() -> None:
    seats = reserved()
    for seat in ("seat", "other"):
        with pytest.raises(AuthenticationError):
            seats.seat_client(AttendMessage(seat, "client ticket"), 1.0)
    seats.seat_device(ArriveMessage("seat", "router ticket"), DEVICE, 1.0)
    seats.seat_client(AttendMessage("seat", "client ticket"), 1.0)


def test_a_client_comes_back_with_a_new_ticket_only() -> None:
    seats = occupied()
    first = seats.seat_client(AttendMessage("seat", "client ticket"), 2.0)
    assert seats.leave(first, 3.0) is None
    with pytest.raises(AuthenticationError):
        seats.seat_client(AttendMessage("seat", "client ticket"), 4.0)
    second = seats.seat_client(AttendMessage("seat", first.welcome.ticket), 4.0)
    with pytest.raises(AuthenticationError):
        seats.seat_client(AttendMessage("seat", first.welcome.ticket), 5.0)
    assert seats.seat_client(AttendMessage("seat", second.welcome.ticket), 5.0).turn == 3
    assert seats.used == 1


def test_an_old_connection_that_is_missed_late_ends_nothing() -> None:
    seats = occupied()
    old = seats.seat_client(AttendMessage("seat", "client ticket"), 2.0)
    seats.seat_client(AttendMessage("seat", old.welcome.ticket), 3.0)
    assert seats.leave(old, 4.0) is None
    assert seats.deadline is None


def test_a_device_that_leaves_ends_the_seat_for_its_client() -> None:
    seats = reserved()
    device = seats.seat_device(ArriveMessage("seat", "router ticket"), DEVICE, 1.0)
    client = seats.seat_client(AttendMessage("seat", "client ticket"), 2.0)
    assert seats.leave(device, 3.0) == FreedSeat("seat", "the router has left", False, True)
    assert seats.leave(client, 3.0) is None
    assert seats.leave(device, 3.0) is None


def test_a_device_that_does_not_come_loses_its_seat() -> None:
    seats = reserved()
    assert seats.deadline == SECONDS
    assert seats.expire(SECONDS - 0.1) == []
    expected = FreedSeat("seat", "the router did not arrive in time", False, False)
    assert seats.expire(SECONDS) == [expected]
    assert seats.free == 2


def test_who_is_late_is_late_even_if_nobody_looked() -> None:
    seats = reserved()
    with pytest.raises(AuthenticationError):
        seats.seat_device(ArriveMessage("seat", "router ticket"), DEVICE, SECONDS)
    seats = occupied()
    with pytest.raises(AuthenticationError):
        seats.seat_client(AttendMessage("seat", "client ticket"), 1.0 + SECONDS)


def test_a_client_that_does_not_come_loses_the_seat() -> None:
    seats = occupied()
    assert seats.deadline == 1.0 + SECONDS
    expected = FreedSeat("seat", "the client did not come in time", True, False)
    assert seats.expire(1.0 + SECONDS) == [expected]


def test_a_client_that_stays_away_loses_the_seat() -> None:
    seats = occupied()
    seats.leave(seats.seat_client(AttendMessage("seat", "client ticket"), 2.0), 3.0)
    assert seats.deadline == 3.0 + LINGER_S
    assert seats.expire(3.0 + LINGER_S) == [
        FreedSeat("seat", "the client did not come back", True, False)
    ]


def test_the_hub_releases_a_seat_in_any_state() -> None:
    reason = "the hub has released the seat"
    assert new_seats().release("seat") is None
    assert reserved().release("seat") == FreedSeat("seat", reason, False, False)
    assert occupied().release("seat") == FreedSeat("seat", reason, True, False)
    seats = occupied()
    seats.seat_client(AttendMessage("seat", "client ticket"), 2.0)
    assert seats.release("seat") == FreedSeat("seat", reason, True, True)
    assert seats.free == 2


def test_a_promise_goes_with_the_hub_it_was_made_to() -> None:
    """Then the device is sent back at once, and the hub it comes to knows what to do."""
    seats = reserved()
    assert seats.withdraw("seat") == FreedSeat("seat", "the hub has gone", False, False)
    assert seats.withdraw("seat") is None
    with pytest.raises(AuthenticationError):
        seats.seat_device(ArriveMessage("seat", "router ticket"), DEVICE, 1.0)
    seats = occupied()
    assert seats.withdraw("seat") is None
    assert seats.used == 1


LEASE_S = 60.0


def leased() -> Seats:
    """With both sides there from second 2 on."""
    seats = Seats(SERVER, 2, CHANCE, LINGER_S, LEASE_S)
    seats.reserve(msgspec.structs.replace(reserve(), authority=b"by what"), 0.0)
    seats.seat_device(ArriveMessage("seat", "router ticket"), DEVICE, 1.0)
    seats.seat_client(AttendMessage("seat", "client ticket"), 2.0)
    return seats


def test_an_attended_seat_ends_with_its_lease() -> None:
    """Whatever became of the hub: nobody sits here for ever."""
    seats = leased()
    assert seats.held == [HoldMessage("seat", MAC, DEVICE, b"by what")]
    assert seats.deadline == LEASE_S
    assert seats.expire(LEASE_S - 0.1) == []
    assert seats.expire(LEASE_S) == [FreedSeat("seat", NOT_RENEWED, True, True)]
    assert seats.held == []


def test_a_lease_counts_from_when_the_hub_was_asked() -> None:
    seats = leased()
    seats.renew(["seat", "another"], 30.0)
    assert seats.deadline == 30.0 + LEASE_S
    seats.renew(["seat"], 10.0)  # an answer that was overtaken
    assert seats.deadline == 30.0 + LEASE_S
    assert seats.expire(89.0) == []
    assert len(seats.expire(90.0)) == 1


def test_a_seat_without_authority_has_no_lease() -> None:
    """It was reserved by a hub of before, which renews none."""
    seats = occupied()
    seats.seat_client(AttendMessage("seat", "client ticket"), 2.0)
    seats.renew(["seat"], 3.0)
    assert seats.held == []
    assert seats.deadline is None


def test_no_client_comes_back_to_a_seat_whose_lease_is_over() -> None:
    seats = leased()
    with pytest.raises(AuthenticationError):
        seats.seat_client(AttendMessage("seat", "client ticket"), LEASE_S)


def test_a_released_seat_tells_why() -> None:
    freed = leased().release("seat", "the device is no longer this account's")
    assert freed == FreedSeat("seat", "the device is no longer this account's", True, True)
