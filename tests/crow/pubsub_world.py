"""A broker and its clients in the deterministic world, every packet on the wire."""

from rookery.crow.packet_events import Ticket
from rookery.crow.pubsub.broker import Broker
from rookery.crow.pubsub.broker_node import BrokerNode
from rookery.crow.pubsub.client_node import PubSubClientNode
from rookery.crow.pubsub.orders import DeliveryOptions
from rookery.sim.crow_world import CrowWorld, SimulatedTower
from rookery.wire.crow.message import Consume

BROKER_IP = "10.0.0.1"
SURELY = DeliveryOptions(1, 100)


class Person:
    """A client of the broker, and all it has heard."""

    def __init__(self, world: CrowWorld, station: SimulatedTower, broker: bytes) -> None:
        self.world = world
        self.station = station
        self.node = PubSubClientNode(station.nodes, broker, self)
        self.heard: list[tuple[bytes, bytes]] = []
        self.subscriptions: list[list[bytes]] = []
        self.answers: dict[bytes, bytes] = {}
        self.outcomes: dict[Ticket, str | None] = {}
        self.refusals = 0

    @property
    def data(self) -> list[bytes]:
        return [data for _, data in self.heard]

    def consumed(self, message: Consume, subscriptions: list[bytes]) -> None:
        self.heard.append((message.theme, message.data))
        self.subscriptions.append(subscriptions)

    def answered(self, reply: bytes, data: bytes) -> None:
        assert reply not in self.answers, "a request is answered once"
        self.answers[reply] = data

    def outcome(self, ticket: Ticket, failure: str | None) -> None:
        self.outcomes[ticket] = failure

    def refused(self) -> None:
        self.refusals += 1

    def subscribe(self, theme: bytes, terms: DeliveryOptions = SURELY, *, latest: int = 0) -> None:
        self.node.subscribe(theme, terms, self.world.now, latest=latest)
        self.station.settle()

    def unsubscribe(self, theme: bytes) -> None:
        self.node.unsubscribe(theme, self.world.now)
        self.station.settle()

    def publish(self, theme: bytes, data: bytes, terms: DeliveryOptions = SURELY) -> Ticket:
        ticket = self.node.publish(theme, data, terms, self.world.now)
        self.station.settle()
        return ticket

    def ask(self, theme: bytes, data: bytes, terms: DeliveryOptions = SURELY) -> bytes:
        reply, _ = self.node.ask(theme, data, terms, self.world.now)
        self.station.settle()
        return reply


def start_broker(world: CrowWorld) -> BrokerNode:
    """A second call is a restart: it has forgotten everything."""
    return BrokerNode(world.station(BROKER_IP).nodes, Broker(world.now))


def join(world: CrowWorld, number: int, broker: bytes) -> Person:
    return Person(world, world.station(f"10.0.1.{number}"), broker)
