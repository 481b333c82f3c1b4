"""Subscriptions of a broker: connects plain names, patterns and clients.

    client ── DeliveryOptions ──▶ name     ──▶ Themes     a plain name, with its last messages
                              └─▶ pattern  ──▶ Patterns   wildcards, without messages

A client gets a message once, however many of its subscriptions match: by the terms of the plain
name if it has one, else by those with the highest quality of service.
"""

from collections import Counter

from rookery.crow.limits import ClientLimits
from rookery.crow.pubsub.clients import BrokerClients
from rookery.crow.pubsub.orders import Audience, BrokerClient, DeliveryOptions
from rookery.crow.pubsub.patterns import LEVELS_MAX, Patterns, is_pattern, matches
from rookery.crow.pubsub.themes import Theme, Themes

Target = tuple[BrokerClient, int, int]  # with qos and ackquant_ms


class Subscriptions:
    """Every change of a subscription goes through here, so that all tables agree."""

    def __init__(
        self, themes: Themes, limits: ClientLimits, patterns_max: int, dropped: Counter[str]
    ) -> None:
        self.clients = BrokerClients(limits)
        self._themes = themes
        self._patterns = Patterns()
        self._patterns_max = patterns_max
        self._dropped = dropped

    def subscribe(
        self,
        client: BrokerClient,
        name: bytes,
        terms: DeliveryOptions,
        now: float,
        *,
        is_reply: bool = False,
    ) -> bool:
        """Begin or renew a subscription; False, and counted, if there is no room for it."""
        known = self.clients.terms(client, name)
        if known is None and not self._make_room(client, now):
            self._dropped["no room for a subscription"] += 1
            return False
        audience = self._open(name, now, is_reply=is_reply)
        if audience is None:
            return False
        self.clients.add(client, name, terms, now)
        if known != terms:
            audience[client] = terms
            self._changed(name)
        return True

    def unsubscribe(self, client: BrokerClient, name: bytes) -> None:
        if self.clients.terms(client, name) is None:
            return
        self.clients.remove(client, name)
        if is_pattern(name):
            audience = self._patterns.audience(name)
            assert audience is not None
            del audience[client]
            if not audience:
                self._patterns.close(name)
        else:
            theme = self._themes.find(name)
            assert theme is not None, "a theme with subscribers is not forgotten"
            del theme.audience[client]
        self._changed(name)

    def forget(self, client: BrokerClient) -> None:
        """Unsubscribe a client from everything."""
        session = self.clients.find(client)
        for name in list(session.subscriptions) if session is not None else ():
            self.unsubscribe(client, name)

    def expire(self, now: float) -> None:
        """Unsubscribe clients that were silent for too long."""
        while (lost := self.clients.lost(now)) is not None:
            client, names = lost
            for name in names:
                self.unsubscribe(client, name)

    def targets(self, theme: Theme) -> list[Target]:
        """The clients that a message of this theme goes to."""
        if theme.targets is None or theme.targets_version != self._patterns.version:
            theme.targets = self._targets(theme.name, theme.audience)
            theme.targets_version = self._patterns.version
        return theme.targets

    def targets_by_pattern(self, name: bytes) -> list[Target]:
        """The same for a name that there is no room to keep."""
        return self._targets(name, {})

    def themes(self, name: bytes) -> list[Theme]:
        """The themes that a subscription to `name` stands for."""
        if is_pattern(name):
            return [theme for theme in self._themes if matches(name, theme.name)]
        theme = self._themes.find(name)
        return [] if theme is None else [theme]

    def _targets(self, name: bytes, audience: Audience) -> list[Target]:
        found: Audience = {}
        for others in self._patterns.matching(name):
            for client, terms in others.items():
                if client not in found or terms > found[client]:
                    found[client] = terms
        found |= audience
        return [(client, *terms) for client, terms in found.items()]

    def _open(self, name: bytes, now: float, *, is_reply: bool) -> Audience | None:
        if not is_pattern(name):
            theme = self._themes.open(name, now, is_reply=is_reply)
            return None if theme is None else theme.audience
        audience = self._patterns.audience(name)
        if audience is None:
            if name.count(b"/") >= LEVELS_MAX or len(self._patterns) >= self._patterns_max:
                self._dropped["no room for a pattern"] += 1
                return None
            audience = self._patterns.open(name)
        return audience

    def _changed(self, name: bytes) -> None:
        if is_pattern(name):
            self._patterns.version += 1
            return
        theme = self._themes.find(name)
        assert theme is not None
        theme.targets = None
        self._themes.settle(theme)

    def _make_room(self, client: BrokerClient, now: float) -> bool:
        """Room for one more subscription; removes a long silent client's if necessary."""
        session = self.clients.find(client)
        themes_max = self.clients.limits.client_themes_max
        if session is not None and len(session.subscriptions) >= themes_max:
            name = session.longest_silent(now)
            if name is None:
                return False
            self.unsubscribe(client, name)
        if not self.clients.has_room(client):
            silent = self.clients.longest_silent(now)
            if silent is None:
                return False
            self.forget(silent)
        return True
