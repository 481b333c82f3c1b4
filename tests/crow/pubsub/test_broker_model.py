"""The broker against a model that keeps everything and computes everything anew (C7)."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from rookery.crow.limits import BrokerLimits, ClientLimits, ThemeLimits
from rookery.crow.pubsub.broker import Broker
from rookery.crow.pubsub.orders import BrokerClient, BrokerSend, DeliveryOptions
from rookery.crow.pubsub.patterns import is_pattern, matches
from rookery.wire.crow.message import Consume, Publish
from rookery.wire.crow.pubsub import (
    CONTROL_THEME,
    NO_ANSWER,
    Operation,
    PubSubQuery,
    PubSubRequest,
    Subscribe,
    SubscribeLatest,
    Unsubscribe,
)

clients = st.builds(BrokerClient, st.sampled_from([b"x", b"y"]), st.sampled_from([1, 2, None]))
plain = st.sampled_from([b"a", b"b", b"a/b", b"a/b/c", b"c#", b""])
themes = plain | st.sampled_from([b"+", b"#", b"a/+", b"a/#", b"+/b", b"+/+/c"])
terms = st.builds(DeliveryOptions, st.integers(0, 2), st.sampled_from([0, 100]))
data = st.binary(max_size=3)

Heard = tuple[BrokerClient, bytes, int, int]


class Model:
    """Who must receive what, said as plainly as can be."""

    def __init__(self) -> None:
        self.terms: dict[tuple[BrokerClient, bytes], DeliveryOptions] = {}
        self.last_seen_at: dict[BrokerClient, float] = {}
        self.messages: list[tuple[bytes, bytes]] = []

    def silence(self, now: float) -> None:
        for (client, theme), wanted in list(self.terms.items()):
            if wanted.qos == 0 and now - self.last_seen_at[client] >= 20.0:
                del self.terms[client, theme]

    def publish(self, theme: bytes, payload: bytes) -> set[Heard]:
        self.messages.append((theme, payload))
        best: dict[BrokerClient, DeliveryOptions] = {}
        for (client, name), wanted in self.terms.items():
            if is_pattern(name) and matches(name, theme):
                best[client] = max(best.get(client, wanted), wanted)
        for (client, name), wanted in self.terms.items():
            if name == theme:
                best[client] = wanted
        body = Consume(theme, payload).serialize()
        return {(client, body, *wanted) for client, wanted in best.items()}

    def latest(self, theme: bytes, count: int) -> list[bytes]:
        names = sorted({name for name, _ in self.messages if matches(theme, name)})
        return [
            Consume(*message).serialize()
            for name in names
            for message in [m for m in reversed(self.messages) if m[0] == name][:count]
        ]


def heard(sends: list[BrokerSend]) -> set[Heard]:
    found = {(send.client, send.body, send.qos, send.ackquant_ms) for send in sends}
    assert len(found) == len(sends), "nobody gets a message twice"
    return found


class BrokerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.broker = Broker(self.now)
        self.model = Model()

    def says(self, client: BrokerClient, operation: Operation) -> list[BrokerSend]:
        self.model.silence(self.now)
        self.model.last_seen_at[client] = self.now
        if client.node is not None or not isinstance(operation, Publish | Subscribe):
            return self.broker.received(client, operation.serialize(), self.now)
        return self.broker.received_legacy(client.address, operation.serialize_legacy(), self.now)

    @rule(client=clients, theme=themes, wanted=terms)
    def subscribe(self, client: BrokerClient, theme: bytes, wanted: DeliveryOptions) -> None:
        assert self.says(client, Subscribe(theme, *wanted)) == []
        self.model.terms[client, theme] = wanted

    @rule(
        client=clients, theme=themes, wanted=terms, count=st.integers(0, 4), updates=st.booleans()
    )
    def subscribe_latest(
        self, client: BrokerClient, theme: bytes, wanted: DeliveryOptions, count: int, updates: bool
    ) -> None:
        sends = self.says(client, SubscribeLatest(theme, *wanted, count, updates))
        expected = [(client, body, *wanted) for body in self.model.latest(theme, count)]
        assert [(send.client, send.body, send.qos, send.ackquant_ms) for send in sends] == expected
        if updates:
            self.model.terms[client, theme] = wanted

    @rule(client=clients, theme=themes)
    def unsubscribe(self, client: BrokerClient, theme: bytes) -> None:
        assert self.says(client, Unsubscribe(theme)) == []
        self.model.terms.pop((client, theme), None)

    @rule(client=clients, theme=plain, payload=data)
    def publish(self, client: BrokerClient, theme: bytes, payload: bytes) -> None:
        sends = self.says(client, Publish(theme, payload))
        assert heard(sends) == self.model.publish(theme, payload)

    @rule(client=clients, theme=plain, reply=themes | st.just(NO_ANSWER), wanted=terms)
    def request(
        self, client: BrokerClient, theme: bytes, reply: bytes, wanted: DeliveryOptions
    ) -> None:
        sends = self.says(client, PubSubRequest(theme, reply, b"?", *wanted))
        if reply != NO_ANSWER:
            self.model.terms[client, reply] = wanted
        question = PubSubQuery(reply, b"?").serialize()
        assert heard(sends) == self.model.publish(theme, question)

    @rule(client=clients)
    def undelivered(self, client: BrokerClient) -> None:
        self.broker.undelivered(client)
        for key in [key for key in self.model.terms if key[0] == client]:
            del self.model.terms[key]

    @rule(seconds=st.sampled_from([1.0, 7.0, 19.0, 21.0]), ticks=st.booleans())
    def time_passes(self, seconds: float, ticks: bool) -> None:
        self.now += seconds
        if ticks:
            self.broker.tick(self.now)

    @invariant()
    def the_counts_agree(self) -> None:
        self.broker.tick(self.now)
        self.model.silence(self.now)
        assert self.broker.clients.subscriptions == len(self.model.terms)
        assert len(self.broker.clients) == len({client for client, _ in self.model.terms})
        for theme in self.broker.themes:
            names = [name for _, name in self.model.terms]
            is_control = theme.name == CONTROL_THEME
            assert theme.subscribers == names.count(theme.name) + is_control
        assert not self.broker.dropped


class CrampedMachine(RuleBasedStateMachine):
    """With hardly any room: nothing grows beyond its bound and the tables agree."""

    @initialize(
        clients_max=st.integers(1, 3),
        client_themes_max=st.integers(1, 3),
        subscriptions_max=st.integers(1, 5),
        themes_max=st.integers(1, 4),
        patterns_max=st.integers(1, 2),
    )
    def begin(
        self,
        clients_max: int,
        client_themes_max: int,
        subscriptions_max: int,
        themes_max: int,
        patterns_max: int,
    ) -> None:
        self.now = 0.0
        self.limits = BrokerLimits(
            themes=ThemeLimits(
                themes_max=themes_max, messages=3, theme_bytes_max=250, bytes_max=400
            ),
            clients=ClientLimits(
                clients_max=clients_max,
                client_themes_max=client_themes_max,
                subscriptions_max=subscriptions_max,
            ),
            patterns_max=patterns_max,
        )
        self.broker = Broker(self.now, self.limits)

    @rule(client=clients, theme=themes, wanted=terms)
    def subscribe(self, client: BrokerClient, theme: bytes, wanted: DeliveryOptions) -> None:
        body = SubscribeLatest(theme, *wanted, 9).serialize()
        self.broker.received(client, body, self.now)

    @rule(client=clients, theme=themes)
    def unsubscribe(self, client: BrokerClient, theme: bytes) -> None:
        self.broker.received(client, Unsubscribe(theme).serialize(), self.now)

    @rule(client=clients, theme=plain, reply=themes, size=st.integers(0, 300))
    def request(self, client: BrokerClient, theme: bytes, reply: bytes, size: int) -> None:
        body = PubSubRequest(theme, reply, bytes(size), 1, 100).serialize()
        heard(self.broker.received(client, body, self.now))

    @rule(client=clients)
    def undelivered(self, client: BrokerClient) -> None:
        self.broker.undelivered(client)

    @rule(seconds=st.sampled_from([1.0, 19.0, 21.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @invariant()
    def everything_is_within_its_bounds(self) -> None:
        broker, limits = self.broker, self.limits
        held = [
            (session.client, name) for session in broker.clients for name in session.subscriptions
        ]
        assert len(held) == broker.clients.subscriptions <= limits.clients.subscriptions_max
        assert len(broker.clients) <= limits.clients.clients_max
        assert len(broker.themes) <= limits.themes.themes_max
        assert broker.themes.size == sum(theme.size for theme in broker.themes)
        assert broker.themes.size <= limits.themes.bytes_max
        assert len({name for _, name in held if is_pattern(name)}) <= limits.patterns_max
        for session in broker.clients:
            assert 1 <= len(session.subscriptions) <= limits.clients.client_themes_max
        for theme in broker.themes:
            assert list(theme.audience) == [c for c in theme.audience if (c, theme.name) in held]
            assert len(theme.messages) <= theme.messages_max
        for client, name in held:
            if not is_pattern(name):
                found = broker.themes.find(name)
                assert found is not None
                assert client in found.audience


TestBroker = BrokerMachine.TestCase
TestBroker.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestCramped = CrampedMachine.TestCase
TestCramped.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
