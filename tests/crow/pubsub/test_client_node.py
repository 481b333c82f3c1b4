"""Clients and broker together (C3, C7): what was promised arrives, whatever the network does."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.crow.pubsub.broker import Broker
from rookery.crow.pubsub.broker_node import BrokerNode
from rookery.crow.pubsub.orders import BrokerClient, DeliveryOptions
from rookery.errors import CongestionError
from rookery.sim.crow_world import CrowWorld, udp_hop
from rookery.sim.network.network import Conditions
from rookery.wire.crow.message import Consume, Publish
from rookery.wire.crow.node import NodePacket
from rookery.wire.crow.packet import NODE, CrowPacket
from rookery.wire.crow.pubsub import BROKER_NODE, PubSubQuery
from rookery.wire.link.path import NetPath
from tests.crow.pubsub_world import BROKER_IP, SURELY, Person, join, start_broker

BROKER = udp_hop(NetPath("udp4", BROKER_IP, 10009))
ONCE, EXACTLY = DeliveryOptions(0, 100), DeliveryOptions(2, 100)


class Town:
    def __init__(
        self, people: int = 2, seed: int = 0, conditions: Conditions | None = None
    ) -> None:
        self.world = CrowWorld(seed, conditions)
        self.broker: BrokerNode = start_broker(self.world)
        self.people = [join(self.world, number, BROKER) for number in range(people)]

    def run(self, seconds: float) -> None:
        self.world.run(seconds)


@pytest.fixture
def town() -> Town:
    return Town()


def test_what_one_publishes_the_other_receives(town: Town) -> None:
    alice, bob = town.people
    alice.subscribe(b"a/+")
    alice.subscribe(b"a/b")
    town.run(0.1)
    ticket = bob.publish(b"a/b", b"hello")
    town.run(0.1)
    assert alice.heard == [(b"a/b", b"hello")]
    assert alice.subscriptions == [[b"a/+", b"a/b"]]
    assert bob.outcomes == {ticket: None}


def test_a_subscription_lives_as_long_as_it_is_said_again(town: Town) -> None:
    alice, bob = town.people
    alice.subscribe(b"a", ONCE)
    town.run(120)
    bob.publish(b"a", b"still there")
    town.run(0.1)
    assert alice.data == [b"still there"]


def test_unsubscribing_ends_it(town: Town) -> None:
    alice, bob = town.people
    alice.subscribe(b"a")
    town.run(0.1)
    alice.unsubscribe(b"a")
    alice.unsubscribe(b"a")
    town.run(0.1)
    assert len(town.broker.broker.clients) == 0
    bob.publish(b"a", b"too late")
    town.run(10)
    assert alice.data == []


@pytest.mark.parametrize("terms", [ONCE, SURELY])
def test_the_latest_come_first_and_once(town: Town, terms: DeliveryOptions) -> None:
    alice, bob = town.people
    for data in (b"one", b"two", b"three"):
        bob.publish(b"a", data)
        town.run(0.1)
    alice.subscribe(b"a", terms, latest=2)
    town.run(10)
    assert alice.data == [b"three", b"two"]


def test_the_latest_are_requested_when_the_broker_comes_up() -> None:
    """Only after it has the subscription: a C++ broker would die otherwise."""
    world = CrowWorld()
    alice = join(world, 1, BROKER)
    alice.subscribe(b"a", latest=1)
    world.run(5)
    start_broker(world).publish(b"a", b"old", world.now)
    world.run(5)
    assert alice.data == [b"old"]


def test_subscriptions_outlive_the_broker(town: Town) -> None:
    alice, bob = town.people
    alice.subscribe(b"a")
    town.run(1)
    start_broker(town.world)
    town.run(2.1)
    bob.publish(b"a", b"after the restart")
    town.run(0.1)
    assert alice.data == [b"after the restart"]


def test_a_client_that_is_gone_is_forgotten(town: Town) -> None:
    alice, bob = town.people
    alice.subscribe(b"a")
    town.run(0.1)
    town.world.network.change(Conditions(blocked=True), BROKER_IP, "10.0.1.0")
    town.world.network.change(Conditions(blocked=True), "10.0.1.0", BROKER_IP)
    bob.publish(b"a", b"to nobody")
    town.run(1)
    assert len(town.broker.broker.clients) == 0


def test_a_closed_node_is_forgotten_at_the_next_message(town: Town) -> None:
    alice, bob = town.people
    alice.subscribe(b"a", ONCE)
    town.run(0.1)
    alice.node.close()
    bob.publish(b"a", b"hello?")
    town.run(0.1)
    assert len(town.broker.broker.clients) == 0


class Service(Person):
    """Says back what it is asked, in capitals."""

    def consumed(self, message: Consume, subscriptions: list[bytes]) -> None:
        super().consumed(message, subscriptions)
        query = PubSubQuery.parse(message.data)
        self.node.answer(query, query.data.upper(), EXACTLY, self.world.now)


def test_requests_get_their_answers() -> None:
    town = Town(seed=3, conditions=Conditions(loss=0.3, jitter_s=0.02, duplication=0.2))
    service = Service(town.world, town.world.station("10.0.2.1"), BROKER)
    service.subscribe(b"svc", EXACTLY)
    town.run(2)
    alice, bob = town.people
    wanted = {alice.ask(b"svc", b"a%d" % number, EXACTLY): b"A%d" % number for number in range(10)}
    bob.node.tell(b"svc", b"no answer", EXACTLY, town.world.now)
    bob.station.settle()
    town.run(5)
    assert alice.answers == wanted
    assert len(service.heard) == 11
    town.run(5)
    assert len(town.broker.broker.clients) == 1  # only the service is still subscribed


def test_a_request_given_up_leaves_nothing_behind(town: Town) -> None:
    alice, bob = town.people
    reply = alice.ask(b"nobody", b"?")
    town.run(3)
    assert len(town.broker.broker.clients) == 1
    alice.node.finish(reply, town.world.now)
    alice.station.settle()
    town.run(0.1)
    assert len(town.broker.broker.clients) == 0
    bob.publish(reply, b"late")
    town.run(1)
    assert alice.answers == {}


def test_commands_can_be_listed(town: Town) -> None:
    alice, _ = town.people
    reply = alice.ask(b"crowker/control", b"theme-names")
    town.run(0.1)
    names = sorted([b"crowker/control", reply])
    assert alice.answers == {reply: b"%b\n%b\n" % tuple(names)}


def test_a_tower_without_a_broker_refuses() -> None:
    world = CrowWorld()
    world.station(BROKER_IP)
    alice = join(world, 1, BROKER)
    alice.publish(b"a", b"anybody?")
    world.run(0.1)
    assert alice.refusals == 1


def test_only_the_broker_is_believed(town: Town) -> None:
    alice, bob = town.people
    alice.subscribe(b"a")
    town.run(0.1)
    forged = NodePacket(BROKER_NODE, alice.node.node, Consume(b"a", b"forged").serialize())
    bob.station.send(alice.station.hop, forged.serialize(), kind=NODE)
    error = NodePacket.error(BROKER_NODE, alice.node.node)
    bob.station.send(alice.station.hop, error.serialize(), kind=NODE)
    town.run(0.1)
    assert alice.data == []
    assert alice.refusals == 0
    assert alice.station.tower.dropped == {"not from our broker": 1}


def test_nonsense_from_the_broker_is_dropped(town: Town) -> None:
    alice, _ = town.people
    alice.subscribe(b"a")
    operations: list[Publish | Consume] = [Publish(b"a", b""), Consume(b"b", b"")]
    for seqid, operation in enumerate([*operations, Consume(b"a", b"")]):
        data = NodePacket(BROKER_NODE, alice.node.node, operation.serialize()).serialize()
        data = data[:-1] if seqid == 2 else data
        packet = CrowPacket(NODE, False, alice.station.hop, 0, seqid, 0, 100, data)
        alice.station.deliver(packet.serialize(), BROKER[::-1])
    assert alice.data == []
    assert alice.station.tower.dropped == {"no message of a broker": 2, "not subscribed": 1}


def test_a_broker_that_ignores_an_unsubscription_is_acknowledged_and_its_messages_dropped(
    town: Town,
) -> None:
    """C7, C8: what we would not acknowledge, it would send five times."""
    alice, _ = town.people
    alice.subscribe(b"a")
    town.run(0.1)
    alice.unsubscribe(b"a")
    town.run(0.1)
    sent = alice.station.sent
    body = NodePacket(BROKER_NODE, alice.node.node, Consume(b"a", b"still").serialize())
    packet = CrowPacket(NODE, False, alice.station.hop, 0, 7, 1, 100, body.serialize())
    alice.station.deliver(packet.serialize(), BROKER[::-1])
    assert alice.data == []
    assert alice.station.sent == sent + 1
    assert alice.station.tower.dropped == {"not subscribed": 1}


def test_a_full_queue_raises_or_is_made_up_for(town: Town) -> None:
    alice, _ = town.people
    for _ in range(32 + 1024):
        alice.node.publish(b"a", b"", SURELY, town.world.now)
    with pytest.raises(CongestionError):
        alice.node.publish(b"a", b"", SURELY, town.world.now)
    with pytest.raises(CongestionError):
        alice.node.ask(b"svc", b"", SURELY, town.world.now)
    alice.subscribe(b"b")  # is said again
    town.run(10)
    town.broker.publish(b"b", b"made up for", town.world.now)
    town.run(10)
    assert alice.data == [b"made up for"]


class Watched(Broker):
    """Remembers who was given up: five transmissions may all be lost."""

    def __init__(self, now: float) -> None:
        super().__init__(now)
        self.given_up: set[bytes] = set()

    def undelivered(self, client: BrokerClient) -> None:
        self.given_up.add(client.address)
        super().undelivered(client)


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    loss=st.floats(0.0, 0.3),
    duplication=st.floats(0.0, 0.3),
    qos=st.sampled_from([0, 1, 2]),
)
def test_messages_keep_the_promise_of_their_quality(
    seed: int, loss: float, duplication: float, qos: int
) -> None:
    """At most once, at least once, exactly once: from publisher to every subscriber."""
    world = CrowWorld(seed)
    broker = Watched(world.now)
    BrokerNode(world.station(BROKER_IP).nodes, broker)
    publisher, *subscribers = (join(world, number, BROKER) for number in range(5))
    for person in subscribers:
        person.subscribe(b"t", DeliveryOptions(qos, 50))
    world.run(1)
    world.network.change(Conditions(loss=loss, duplication=duplication, jitter_s=0.03))
    sent = {}
    for number in range(40):
        data = b"%d " % number * (1 if number % 10 else 800)
        sent[publisher.publish(b"t", data, EXACTLY)] = data
        world.run(0.1)
    world.run(40)
    delivered = {data for ticket, data in sent.items() if publisher.outcomes[ticket] is None}
    for person in subscribers:
        heard = person.data
        assert set(heard) <= set(sent.values())
        assert qos == 1 or len(heard) == len(set(heard))
        assert qos == 0 or person.station.hop in broker.given_up or set(heard) >= delivered
