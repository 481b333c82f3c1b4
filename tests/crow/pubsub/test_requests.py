"""Requests through the broker (C7)."""

from random import Random

import pytest

from rookery.crow.pubsub.orders import ClientSend, DeliveryOptions
from rookery.crow.pubsub.requests import PubSubRequests, one_way_request, query_answer, reply_theme
from rookery.crow.pubsub.subscriber import Subscriber
from rookery.errors import CongestionError, UsageError
from rookery.wire.crow.message import Publish
from rookery.wire.crow.pubsub import NO_ANSWER, PubSubQuery, PubSubRequest, Subscribe, Unsubscribe

TERMS = DeliveryOptions(1, 100)


def test_a_reply_theme_is_ten_letters_and_digits_each_as_likely() -> None:
    random = Random(1)
    themes = [reply_theme(random.randbytes) for _ in range(5000)]
    assert {len(theme) for theme in themes} == {10}
    letters = b"".join(themes)
    counts = [letters.count(letter) for letter in set(letters)]
    assert len(counts) == 62
    assert letters.isalnum()
    assert max(counts) < 1.25 * min(counts)


def test_unfair_random_bytes_are_drawn_again() -> None:
    supply = iter([b"\xff" * 20, b"\x00" * 8 + b"\xf8" * 12, b"\x3d" * 20])
    assert reply_theme(lambda _: next(supply)) == b"AAAAAAAA99"


def test_a_request_is_answered_once_and_then_unsubscribed() -> None:
    subscriber = Subscriber()
    requests = PubSubRequests(subscriber, Random(1).randbytes)
    reply, call = requests.ask(b"svc", b"question", TERMS, 0.0)
    assert call == ClientSend(PubSubRequest(b"svc", reply, b"question", 1, 100).serialize(), 1, 100)
    assert reply in requests
    assert b"svc" not in requests
    assert subscriber.tick(2.0) == [
        (reply, ClientSend(Subscribe(reply, 1, 100).serialize(), 1, 100))
    ]
    assert requests.finish(reply) == ClientSend(Unsubscribe(reply, 1, 100).serialize(), 1, 100)
    assert reply not in requests
    assert requests.finish(reply) is None


def test_requests_do_not_outgrow_the_subscriptions() -> None:
    requests = PubSubRequests(Subscriber(subscriptions_max=1), Random(1).randbytes)
    requests.ask(b"svc", b"", TERMS, 0.0)
    with pytest.raises(CongestionError):
        requests.ask(b"svc", b"", TERMS, 0.0)


def test_a_query_that_cannot_be_sent_leaves_nothing_behind() -> None:
    subscriber = Subscriber()
    requests = PubSubRequests(subscriber, Random(1).randbytes)
    with pytest.raises(UsageError):
        requests.ask(b"svc", bytes(1 << 16), TERMS, 0.0)
    assert subscriber.deadline is None


def test_a_service_answers_to_the_reply_theme() -> None:
    expected = ClientSend(Publish(b"reply", b"yes").serialize(), 1, 100)
    assert query_answer(PubSubQuery(b"reply", b"?"), b"yes", TERMS) == expected


def test_a_request_without_an_answer_gets_none() -> None:
    assert query_answer(PubSubQuery(NO_ANSWER, b"!"), b"yes", TERMS) is None
    expected = ClientSend(PubSubRequest(b"svc", NO_ANSWER, b"!", 1, 100).serialize(), 1, 100)
    assert one_way_request(b"svc", b"!", TERMS) == expected
