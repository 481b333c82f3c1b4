"""A client's subscriptions (C7): asked for, renewed, ended."""

import pytest

from rookery.crow.pubsub.orders import ClientSend, DeliveryOptions
from rookery.crow.pubsub.subscriber import RENEWAL_S, Subscriber
from rookery.errors import CongestionError, UsageError
from rookery.wire.crow.pubsub import Subscribe, SubscribeLatest, Unsubscribe

TERMS = DeliveryOptions(1, 100)
SUBSCRIBE = ClientSend(Subscribe(b"a", 1, 100).serialize(), 1, 100)


def test_a_subscription_is_said_again_every_two_seconds() -> None:
    subscriber = Subscriber()
    assert subscriber.deadline is None
    assert subscriber.subscribe(b"a", TERMS, 0.0) == SUBSCRIBE
    for number in range(1, 4):
        assert subscriber.deadline == number * RENEWAL_S
        assert subscriber.tick(number * RENEWAL_S - 0.1) == []
        assert subscriber.tick(number * RENEWAL_S) == [(b"a", SUBSCRIBE)]


def test_the_latest_are_requested_once_and_when_the_broker_has_the_subscription() -> None:
    """A C++ broker dies when it hears only the wish for the latest."""
    subscriber = Subscriber()
    assert subscriber.subscribe(b"a", TERMS, 0.0, latest=2) == SUBSCRIBE
    assert subscriber.tick(2.0) == [(b"a", SUBSCRIBE)]
    latest = ClientSend(SubscribeLatest(b"a", 1, 100, 2).serialize(), 1, 100)
    assert subscriber.confirmed(b"a") == latest
    assert subscriber.confirmed(b"a") is None
    assert subscriber.confirmed(b"unknown") is None


def test_an_ended_subscription_is_said_once_and_not_renewed() -> None:
    subscriber = Subscriber()
    subscriber.subscribe(b"a", TERMS, 0.0)
    unsubscribe = ClientSend(Unsubscribe(b"a", 1, 100).serialize(), 1, 100)
    assert subscriber.unsubscribe(b"a") == unsubscribe
    assert subscriber.unsubscribe(b"a") is None
    assert subscriber.tick(9.0) == []
    assert subscriber.deadline is None


def test_subscribing_again_renews_on_the_new_terms_only() -> None:
    subscriber = Subscriber()
    subscriber.subscribe(b"a", DeliveryOptions(0, 50), 0.0)
    subscriber.subscribe(b"a", TERMS, 1.0)
    assert subscriber.tick(2.5) == []
    assert subscriber.tick(3.0) == [(b"a", SUBSCRIBE)]


def test_after_a_long_pause_each_is_said_once() -> None:
    subscriber = Subscriber()
    subscriber.subscribe(b"a", TERMS, 0.0)
    assert subscriber.tick(100.0) == [(b"a", SUBSCRIBE)]
    assert subscriber.deadline == 100.0 + RENEWAL_S


@pytest.mark.parametrize(
    ("theme", "terms", "latest"),
    [(bytes(256), TERMS, 0), (b"a", DeliveryOptions(3, 100), 0), (b"a", TERMS, 1 << 31)],
)
def test_what_has_no_room_on_the_wire_leaves_nothing_behind(
    theme: bytes, terms: DeliveryOptions, latest: int
) -> None:
    subscriber = Subscriber()
    with pytest.raises(UsageError):
        subscriber.subscribe(theme, terms, 0.0, latest=latest)
    assert subscriber.deadline is None


def test_a_message_belongs_to_all_that_match() -> None:
    subscriber = Subscriber()
    for theme in (b"a/b", b"a/+", b"c"):
        subscriber.subscribe(theme, TERMS, 0.0)
    assert subscriber.matching(b"a/b") == [b"a/b", b"a/+"]
    assert subscriber.matching(b"d") == []
    assert b"c" in subscriber


def test_the_number_of_subscriptions_is_bounded() -> None:
    subscriber = Subscriber(subscriptions_max=1)
    subscriber.subscribe(b"a", TERMS, 0.0)
    subscriber.subscribe(b"a", TERMS, 0.0)
    with pytest.raises(CongestionError):
        subscriber.subscribe(b"b", TERMS, 0.0)
