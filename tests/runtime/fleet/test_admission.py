"""Connections of strangers, and of those who are expected."""

import pytest

from rookery.runtime.fleet import admission as guests_module
from rookery.runtime.fleet.admission import ConnectionAdmission, ConnectionAdmissionLimits

CALLED, STRANGERS = "192.0.2.1", [f"198.51.100.{number}" for number in range(1, 200)]
MANY = ConnectionAdmissionLimits(connections_max=8, knocks_per_s=1000.0, knocks_burst=1000.0)
SELDOM = ConnectionAdmissionLimits(knocks_per_s=1.0, knocks_burst=5.0)


def flooded(guests: ConnectionAdmission, now: float) -> int:
    """How many strangers were let in."""
    return sum(guests.admit(stranger, now) for stranger in STRANGERS)


def test_strangers_do_not_take_all_places() -> None:
    guests = ConnectionAdmission(MANY, 0.0)
    guests.expect(CALLED, 60.0, 0.0)
    assert flooded(guests, 1.0) == 6
    assert guests.admit(CALLED, 1.0)
    assert guests.admit(CALLED, 1.0)
    assert not guests.admit(CALLED, 1.0)  # all there are
    assert guests.tally["full"] == len(STRANGERS) - 6 + 1


def test_strangers_do_not_use_up_all_knocks() -> None:
    """They did: who was called had to win a race against them."""
    guests = ConnectionAdmission(SELDOM, 0.0)
    guests.expect(CALLED, 60.0, 0.0)
    assert flooded(guests, 0.0) == 5
    assert guests.admit(CALLED, 0.0)


def test_an_address_is_expected_for_a_while() -> None:
    guests = ConnectionAdmission(SELDOM, 0.0)
    guests.expect(CALLED, 60.0, 0.0)
    guests.expect(CALLED, 10.0, 1.0)  # which shortens nothing
    flooded(guests, 59.0)
    assert guests.admit(CALLED, 59.0)
    flooded(guests, 61.0)
    assert not guests.admit(CALLED, 61.0)


def test_places_come_back_to_whom_they_belonged() -> None:
    guests = ConnectionAdmission(MANY, 0.0)
    for _ in range(3):
        assert flooded(guests, 0.0) == 6
        guests.expect(STRANGERS[0], 60.0, 0.0)  # while it is here as a stranger
        for stranger in STRANGERS[:6]:
            guests.let_go(stranger)
        assert guests.count == 0
        guests = ConnectionAdmission(MANY, 0.0)


def test_what_is_no_address_is_not_expected() -> None:
    guests = ConnectionAdmission(SELDOM, 0.0)
    guests.expect("", 60.0, 0.0)
    guests.expect("attic.example", 60.0, 0.0)
    assert flooded(guests, 0.0) == 5
    assert not guests.admit("", 0.0)


def test_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guests_module, "EXPECTED_MAX", 2)
    guests = ConnectionAdmission(SELDOM, 0.0)
    for ip in (CALLED, *STRANGERS[:2]):
        guests.expect(ip, 60.0, 0.0)
    flooded(guests, 0.0)
    assert not guests.admit(CALLED, 0.0)
    assert guests.admit(STRANGERS[0], 0.0)
