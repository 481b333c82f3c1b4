"""Strangers who may speak for a few seconds."""

from rookery.mesh.membership.peering import UNPROVEN_MAX, UNPROVEN_S, UnprovenPeers


def test_a_guest_stays_for_a_while_and_not_longer() -> None:
    guests = UnprovenPeers()
    assert guests.admit("a", 0.0)
    assert guests.admit("b", 1.0)
    assert guests.admit("a", 5.0)  # asking again does not make it longer
    assert guests.deadline == UNPROVEN_S
    assert guests.take_overdue(UNPROVEN_S - 0.1) == []
    assert guests.take_overdue(UNPROVEN_S) == ["a"]
    assert "a" not in guests
    assert "b" in guests


def test_who_leaves_is_not_overdue() -> None:
    guests = UnprovenPeers()
    guests.admit("a", 0.0)
    guests.leave("a")
    guests.leave("a")
    assert guests.deadline is None
    assert guests.take_overdue(100.0) == []


def test_there_are_never_more_than_so_many() -> None:
    guests = UnprovenPeers()
    assert all(guests.admit(str(n), 0.0) for n in range(UNPROVEN_MAX))
    assert not guests.admit("one more", 0.0)
    assert len(guests) == UNPROVEN_MAX
