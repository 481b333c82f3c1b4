"""Clients of a broker: what each subscribed to, and when it was last seen.

A client is known as long as it subscribes to something. One with rqos 0 must send something every
20 seconds, since nothing else shows that it is gone. When a table is full, a client that was silent
for that long is removed; if there is none, the new client is rejected.
"""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

from rookery.crow.limits import ClientLimits
from rookery.crow.pubsub.orders import BrokerClient, DeliveryOptions
from rookery.crow.pubsub.themes import SILENCE_S_MAX


class _ClientSubscription:
    __slots__ = ("last_seen_at", "terms")

    def __init__(self, terms: DeliveryOptions, last_seen_at: float) -> None:
        self.terms: Final = terms
        self.last_seen_at: Final = last_seen_at


class BrokerSession:
    """One client."""

    __slots__ = ("client", "last_seen_at", "subscriptions", "unconfirmed")

    def __init__(self, client: BrokerClient) -> None:
        self.client = client
        self.last_seen_at = 0.0
        self.subscriptions: OrderedDict[bytes, _ClientSubscription] = (
            OrderedDict()
        )  # by last Subscribe
        self.unconfirmed = 0  # subscriptions with rqos 0

    @property
    def is_confirmed(self) -> bool:
        """Whether acknowledgements tell that it is there."""
        return not self.unconfirmed

    def longest_silent(self, now: float) -> bytes | None:
        """The theme that has to make room for another one of the same client, if any."""
        theme, known = next(iter(self.subscriptions.items()))
        return theme if _is_silent(known, now) else None


class BrokerClients:
    """Sessions, ordered by when they were last seen."""

    def __init__(self, limits: ClientLimits) -> None:
        self.limits = limits
        self.subscriptions = 0
        self._sessions: OrderedDict[BrokerClient, BrokerSession] = OrderedDict()
        self._unconfirmed: OrderedDict[BrokerClient, BrokerSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[BrokerSession]:
        return iter(self._sessions.values())

    def find(self, client: BrokerClient) -> BrokerSession | None:
        return self._sessions.get(client)

    def seen(self, client: BrokerClient, now: float) -> None:
        session = self._sessions.get(client)
        if session is not None:
            session.last_seen_at = now
            self._sessions.move_to_end(client)
            if session.unconfirmed:
                self._unconfirmed.move_to_end(client)

    def terms(self, client: BrokerClient, theme: bytes) -> DeliveryOptions | None:
        session = self._sessions.get(client)
        known = session.subscriptions.get(theme) if session is not None else None
        return known.terms if known is not None else None

    def add(self, client: BrokerClient, theme: bytes, terms: DeliveryOptions, now: float) -> None:
        """Begin or renew a subscription; the caller has made room for it."""
        session = self._sessions.get(client)
        if session is None:
            session = self._sessions[client] = BrokerSession(client)
        known = session.subscriptions.get(theme)
        if known is None:
            self.subscriptions += 1
        else:
            self._count_unconfirmed(session, known.terms, -1)
        session.subscriptions[theme] = _ClientSubscription(terms, now)
        session.subscriptions.move_to_end(theme)
        self._count_unconfirmed(session, terms, +1)
        self.seen(client, now)

    def remove(self, client: BrokerClient, theme: bytes) -> None:
        session = self._sessions[client]
        self._count_unconfirmed(session, session.subscriptions.pop(theme).terms, -1)
        self.subscriptions -= 1
        if not session.subscriptions:
            del self._sessions[client]

    def has_room(self, client: BrokerClient) -> bool:
        """Whether one more subscription of this client fits."""
        is_known = client in self._sessions
        return self.subscriptions < self.limits.subscriptions_max and (
            is_known or len(self._sessions) < self.limits.clients_max
        )

    def longest_silent(self, now: float) -> BrokerClient | None:
        """The client to remove for a new one, if one may be removed."""
        session = next(iter(self._sessions.values()), None)
        return session.client if session is not None and _is_silent(session, now) else None

    @property
    def deadline(self) -> float | None:
        """When a client will have been silent for too long."""
        session = next(iter(self._unconfirmed.values()), None)
        return None if session is None else session.last_seen_at + SILENCE_S_MAX

    def lost(self, now: float) -> tuple[BrokerClient, list[bytes]] | None:
        """A client that was silent for too long, with its subscriptions of QoS 0."""
        session = next(iter(self._unconfirmed.values()), None)
        if session is None or not _is_silent(session, now):
            return None
        held = session.subscriptions.items()
        return session.client, [theme for theme, known in held if known.terms.qos == 0]

    def _count_unconfirmed(
        self, session: BrokerSession, terms: DeliveryOptions, change: int
    ) -> None:
        if terms.qos == 0:
            session.unconfirmed += change
            if session.unconfirmed:
                self._unconfirmed[session.client] = session
            else:
                del self._unconfirmed[session.client]


def _is_silent(entry: BrokerSession | _ClientSubscription, now: float) -> bool:
    return entry.last_seen_at + SILENCE_S_MAX <= now
