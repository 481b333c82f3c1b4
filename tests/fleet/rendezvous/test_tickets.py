"""F10: a ticket is for one client, one device, one server, and once."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.fleet.rendezvous.tickets import Ticket, TicketPurpose, digest, make

CHANCE = random.Random(1).randbytes
PURPOSE = TicketPurpose("router", "seat", "server", bytes(6), "holder")
OTHERS = [
    TicketPurpose("client", "seat", "server", bytes(6), "holder"),
    TicketPurpose("router", "seat2", "server", bytes(6), "holder"),
    TicketPurpose("router", "seat", "server2", bytes(6), "holder"),
    TicketPurpose("router", "seat", "server", b"\1" + bytes(5), "holder"),
    TicketPurpose("router", "seat", "server", bytes(6), "holder2"),
    TicketPurpose("router", "seats", "erver", bytes(6), "holder"),
]


def test_a_ticket_passes_once() -> None:
    made = make(CHANCE)
    ticket = Ticket(PURPOSE, digest(made, PURPOSE))
    assert [ticket.redeem(made), ticket.redeem(made)] == [True, False]


def test_a_wrong_ticket_uses_nothing_up() -> None:
    made = make(CHANCE)
    ticket = Ticket(PURPOSE, digest(made, PURPOSE))
    assert not ticket.redeem(make(CHANCE))
    assert ticket.redeem(made)


@pytest.mark.parametrize("other", OTHERS)
def test_a_ticket_is_worth_nothing_for_another_purpose(other: TicketPurpose) -> None:
    made = make(CHANCE)
    assert not Ticket(other, digest(made, PURPOSE)).redeem(made)


def test_tickets_are_160_bits_that_fit_a_url() -> None:
    made = {make(CHANCE) for _ in range(100)}
    assert len(made) == 100
    assert {len(ticket) for ticket in made} == {32}
    assert all(ticket.isalnum() and ticket.isascii() for ticket in made)


@given(st.text(max_size=40) | st.just("x" * 100_000) | st.just("\ud800"))
def test_whatever_is_shown_in_its_place_is_refused(shown: str) -> None:
    made = make(CHANCE)
    assert not Ticket(PURPOSE, digest(made, PURPOSE)).redeem(shown)
