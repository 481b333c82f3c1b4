"""Requests and their answers, through the broker.

    client ── Request(theme, reply theme) ──▶ broker ── Query ──▶ service
    client ◀── Consume(reply theme) ── broker ◀── Publish(reply theme) ── service

The reply theme is a random name, which is enough to match an answer to its request.
"""

from rookery.crow.pubsub.orders import ClientSend, DeliveryOptions
from rookery.crow.pubsub.subscriber import Subscriber
from rookery.identity.cipher_set import RandomBytes
from rookery.wire.crow.message import Publish
from rookery.wire.crow.pubsub import NO_ANSWER, PubSubQuery, PubSubRequest

REPLY_THEME_SIZE = 10

_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
# Bytes from here on are thrown away, or the first letters would come more often.
_FAIR = 256 - 256 % len(_LETTERS)


def reply_theme(random: RandomBytes) -> bytes:
    """Ten random letters and digits."""
    name = b""
    while len(name) < REPLY_THEME_SIZE:
        fair = [byte for byte in random(2 * REPLY_THEME_SIZE) if byte < _FAIR]
        name += bytes(_LETTERS[byte % len(_LETTERS)] for byte in fair)
    return name[:REPLY_THEME_SIZE]


class PubSubRequests:
    """Requests that await their answer; the subscriber keeps their reply themes alive."""

    def __init__(self, subscriber: Subscriber, random: RandomBytes) -> None:
        self._subscriber = subscriber
        self._random = random
        self._pending: set[bytes] = set()

    def ask(
        self, theme: bytes, data: bytes, terms: DeliveryOptions, now: float
    ) -> tuple[bytes, ClientSend]:
        """The reply theme, by which the answer is known, and what to send."""
        reply = reply_theme(self._random)
        request = PubSubRequest(theme, reply, data, *terms)
        call = ClientSend(request.serialize(), *terms)
        self._subscriber.keep(reply, terms, now)
        self._pending.add(reply)
        return reply, call

    def __contains__(self, theme: bytes) -> bool:
        """Whether a message of this theme is an answer; a second one no longer is."""
        return theme in self._pending

    def finish(self, reply: bytes) -> ClientSend | None:
        """The answer has come, or is no longer wanted."""
        self._pending.discard(reply)
        return self._subscriber.unsubscribe(reply)


def one_way_request(theme: bytes, data: bytes, terms: DeliveryOptions) -> ClientSend:
    """A request that wants no answer."""
    return ClientSend(PubSubRequest(theme, NO_ANSWER, data, *terms).serialize(), *terms)


def query_answer(query: PubSubQuery, data: bytes, terms: DeliveryOptions) -> ClientSend | None:
    """What a service sends in return; None if the request wants no answer."""
    if query.reply_theme == NO_ANSWER:
        return None
    return ClientSend(Publish(query.reply_theme, data).serialize(), *terms)
