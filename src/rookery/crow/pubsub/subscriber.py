"""A client's subscriptions: begun, renewed every 2 seconds, and ended with Unsubscribe.

The broker removes silent clients, and a restarted broker knows none: renewal keeps a subscription
through both.
"""

from heapq import heappop, heappush
from typing import Final

from rookery.crow.pubsub.orders import ClientSend, DeliveryOptions
from rookery.crow.pubsub.patterns import matches
from rookery.errors import CongestionError
from rookery.wire.crow.pubsub import Subscribe, SubscribeLatest, Unsubscribe

RENEWAL_S: Final = 2.0
SUBSCRIPTIONS_MAX: Final = 1024  # what our broker allows one client


class _RenewedSubscription:
    __slots__ = ("latest", "renew_at", "terms")

    def __init__(self, terms: DeliveryOptions, renew_at: float) -> None:
        self.terms: Final = terms
        self.renew_at = renew_at
        self.latest = 0  # messages to ask for as soon as the broker knows us


class Subscriber:
    """What one node has subscribed to. Time is an argument: monotonic seconds."""

    def __init__(self, subscriptions_max: int = SUBSCRIPTIONS_MAX) -> None:
        self._subscriptions_max = subscriptions_max
        self._subscriptions: dict[bytes, _RenewedSubscription] = {}
        self._renewals: list[tuple[float, bytes]] = []

    def __contains__(self, theme: bytes) -> bool:
        return theme in self._subscriptions

    def subscribe(
        self, theme: bytes, terms: DeliveryOptions, now: float, *, latest: int = 0
    ) -> ClientSend:
        """Subscribe to a theme or pattern; UsageError for what has no room on the wire."""
        call = _call(Subscribe(theme, *terms), terms)
        if latest:
            _call(SubscribeLatest(theme, *terms, latest), terms)
        self.keep(theme, terms, now)
        self._subscriptions[theme].latest = latest
        return call

    def keep(self, theme: bytes, terms: DeliveryOptions, now: float) -> None:
        """Renew a subscription from now on that the broker makes by itself, as for a request."""
        if theme not in self and len(self._subscriptions) >= self._subscriptions_max:
            raise CongestionError(f"{self._subscriptions_max} subscriptions are the limit")
        self._subscriptions[theme] = _RenewedSubscription(terms, now + RENEWAL_S)
        heappush(self._renewals, (now + RENEWAL_S, theme))

    def confirmed(self, theme: bytes) -> ClientSend | None:
        """The broker has the subscription: the message that follows it once, if any.

        A C++ broker dies of a wish for the latest messages from a client it does not know.
        """
        known = self._subscriptions.get(theme)
        if known is None or not known.latest:
            return None
        latest, known.latest = known.latest, 0
        return _call(SubscribeLatest(theme, *known.terms, latest), known.terms)

    def unsubscribe(self, theme: bytes) -> ClientSend | None:
        known = self._subscriptions.pop(theme, None)
        return None if known is None else _call(Unsubscribe(theme, *known.terms), known.terms)

    def matching(self, theme: bytes) -> list[bytes]:
        """The subscriptions that a message of this theme belongs to."""
        return [name for name in self._subscriptions if matches(name, theme)]

    @property
    def deadline(self) -> float | None:
        """When to call `tick`; None while there is nothing to renew."""
        return self._renewals[0][0] if self._renewals else None

    def tick(self, now: float) -> list[tuple[bytes, ClientSend]]:
        """The subscriptions that are due for renewal."""
        calls = []
        while self._renewals and self._renewals[0][0] <= now:
            due_at, theme = heappop(self._renewals)
            known = self._subscriptions.get(theme)
            # An ended or repeated subscription leaves its old renewal behind.
            if known is not None and known.renew_at == due_at:
                known.renew_at = now + RENEWAL_S
                heappush(self._renewals, (known.renew_at, theme))
                calls.append((theme, _call(Subscribe(theme, *known.terms), known.terms)))
        return calls


def _call(
    operation: Subscribe | SubscribeLatest | Unsubscribe, terms: DeliveryOptions
) -> ClientSend:
    return ClientSend(operation.serialize(), *terms)
