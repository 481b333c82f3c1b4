"""A broker and its clients in the deterministic world, every packet on the wire."""

from rookery.crow.broker import Broker
from rookery.crow.broker_node import BrokerNode
from rookery.crow.notices import Ticket
from rookery.crow.pubsub import Terms
from rookery.crow.pubsub_node import PubSubNode
from rookery.sim.crow_world import CrowWorld, Station
from rookery.wire.crow_message import Consume

BROKER_IP = "10.0.0.1"
SURELY = Terms(1, 100)


class Person:
    """A client of the broker, and all it has heard."""

    def __init__(self, world: CrowWorld, station: Station, broker: bytes) -> None:
        self.world = world
        self.station = station
        self.node = PubSubNode(station.nodes, broker, self)
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

    def subscribe(self, theme: bytes, terms: Terms = SURELY, *, latest: int = 0) -> None:
        self.node.subscribe(theme, terms, self.world.now, latest=latest)
        self.station.settle()

    def unsubscribe(self, theme: bytes) -> None:
        self.node.unsubscribe(theme, self.world.now)
        self.station.settle()

    def publish(self, theme: bytes, data: bytes, terms: Terms = SURELY) -> Ticket:
        ticket = self.node.publish(theme, data, terms, self.world.now)
        self.station.settle()
        return ticket

    def ask(self, theme: bytes, data: bytes, terms: Terms = SURELY) -> bytes:
        reply, _ = self.node.ask(theme, data, terms, self.world.now)
        self.station.settle()
        return reply


def start_broker(world: CrowWorld) -> BrokerNode:
    """A second call is a restart: it has forgotten everything."""
    return BrokerNode(world.station(BROKER_IP).nodes, Broker(world.now))


def join(world: CrowWorld, number: int, broker: bytes) -> Person:
    return Person(world, world.station(f"10.0.1.{number}"), broker)
