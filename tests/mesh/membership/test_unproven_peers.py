"""Strangers who may speak for a few seconds."""

from rookery.mesh.membership.peering import UNPROVEN_MAX, UNPROVEN_S, UnprovenPeers


def test_a_stranger_may_stay_for_a_while_and_no_longer() -> None:
    unproven_peers = UnprovenPeers()
    assert unproven_peers.admit("a", 0.0)
    assert unproven_peers.admit("b", 1.0)
    assert unproven_peers.admit("a", 5.0)  # asking again does not make it longer
    assert unproven_peers.deadline == UNPROVEN_S
    assert unproven_peers.take_overdue(UNPROVEN_S - 0.1) == []
    assert unproven_peers.take_overdue(UNPROVEN_S) == ["a"]
    assert "a" not in unproven_peers
    assert "b" in unproven_peers


def test_who_leaves_is_not_overdue() -> None:
    unproven_peers = UnprovenPeers()
    unproven_peers.admit("a", 0.0)
    unproven_peers.leave("a")
    unproven_peers.leave("a")
    assert unproven_peers.deadline is None
    assert unproven_peers.take_overdue(100.0) == []


def test_there_are_never_more_than_so_many() -> None:
    unproven_peers = UnprovenPeers()
    assert all(unproven_peers.admit(str(n), 0.0) for n in range(UNPROVEN_MAX))
    assert not unproven_peers.admit("one more", 0.0)
    assert len(unproven_peers) == UNPROVEN_MAX
