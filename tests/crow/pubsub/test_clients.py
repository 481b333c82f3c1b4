"""Clients of a broker (C7): heard, silent, lost."""

import pytest

from rookery.crow.limits import ClientLimits
from rookery.crow.pubsub.clients import BrokerClients
from rookery.crow.pubsub.orders import BrokerClient, DeliveryOptions
from rookery.crow.pubsub.themes import SILENCE_S_MAX
from rookery.errors import UsageError

ALICE, BOB, CAROL = (BrokerClient(name, 1) for name in (b"alice", b"bob", b"carol"))
ONCE, SURELY = DeliveryOptions(0, 100), DeliveryOptions(1, 100)


def clients(**limits: int) -> BrokerClients:
    return BrokerClients(ClientLimits(**limits))


def test_a_client_is_known_while_it_subscribes_to_something() -> None:
    known = clients()
    known.add(ALICE, b"a", ONCE, 0.0)
    known.add(ALICE, b"b", SURELY, 0.0)
    assert [session.client for session in known] == [ALICE]
    assert known.terms(ALICE, b"b") == SURELY
    assert known.terms(ALICE, b"c") is None
    assert known.terms(BOB, b"a") is None
    known.remove(ALICE, b"a")
    known.remove(ALICE, b"b")
    assert len(known) == 0
    assert known.subscriptions == 0
    assert known.deadline is None


def test_a_client_without_acknowledgements_is_lost_when_silent() -> None:
    known = clients()
    known.add(ALICE, b"a", ONCE, 0.0)
    known.add(ALICE, b"b", SURELY, 0.0)
    known.add(BOB, b"a", ONCE, 1.0)
    assert known.deadline == SILENCE_S_MAX
    assert known.lost(SILENCE_S_MAX - 0.1) is None
    assert known.lost(SILENCE_S_MAX) == (ALICE, [b"a"])


def test_hearing_from_a_client_gives_it_time() -> None:
    known = clients()
    known.add(ALICE, b"a", ONCE, 0.0)
    known.add(BOB, b"a", ONCE, 1.0)
    known.seen(ALICE, 2.0)
    assert known.deadline == 1.0 + SILENCE_S_MAX
    assert known.lost(2.5 + SILENCE_S_MAX) == (BOB, [b"a"])


def test_a_client_with_acknowledgements_is_never_lost_by_silence() -> None:
    known = clients()
    known.add(ALICE, b"a", ONCE, 0.0)
    known.add(ALICE, b"a", SURELY, 0.0)
    session = known.find(ALICE)
    assert session is not None
    assert session.is_confirmed
    assert known.deadline is None
    assert known.lost(1e9) is None


def test_an_unknown_client_is_seen_without_being_added() -> None:
    known = clients()
    known.seen(ALICE, 0.0)
    assert known.find(ALICE) is None


def test_room_is_for_known_clients_first() -> None:
    known = clients(clients_max=1, subscriptions_max=2)
    known.add(ALICE, b"a", SURELY, 0.0)
    assert known.has_room(ALICE)
    assert not known.has_room(BOB)
    known.add(ALICE, b"b", SURELY, 0.0)
    assert not known.has_room(ALICE)


def test_only_the_silent_make_room() -> None:
    known = clients()
    assert known.longest_silent(0.0) is None
    known.add(ALICE, b"a", SURELY, 0.0)
    known.add(BOB, b"a", SURELY, 1.0)
    known.seen(ALICE, 2.0)
    assert known.longest_silent(SILENCE_S_MAX) is None
    assert known.longest_silent(1.0 + SILENCE_S_MAX) == BOB


def test_the_theme_not_renewed_for_longest_makes_room_for_another() -> None:
    known = clients()
    known.add(ALICE, b"a", SURELY, 0.0)
    known.add(ALICE, b"b", SURELY, 1.0)
    known.add(ALICE, b"a", SURELY, 2.0)
    session = known.find(ALICE)
    assert session is not None
    assert session.longest_silent(SILENCE_S_MAX) is None
    assert session.longest_silent(1.0 + SILENCE_S_MAX) == b"b"


def test_limits_are_positive() -> None:
    with pytest.raises(UsageError):
        ClientLimits(clients_max=0)
