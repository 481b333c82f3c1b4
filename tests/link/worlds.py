"""Small worlds that several tests begin with."""

from typing import TypeVar

from rookery.link.channel import Channel
from rookery.link.events import Event
from rookery.link.link import Link, LinkState
from rookery.sim.network.network import Conditions
from rookery.sim.world import SimulatedEndpoint, World

FRAGMENT_SIZE = 1200

Kind = TypeVar("Kind", bound=Event)


class Pair:
    """Alice, who dials, and Bob, who accepts whoever comes."""

    def __init__(
        self,
        seed: int = 0,
        conditions: Conditions | None = None,
        *,
        csids: tuple[int, ...] = (0x40,),
        kinds: tuple[str, ...] = ("udp4",),
    ) -> None:
        self.world = World(seed, conditions)
        self.alice = self.world.node("10.0.0.1", csids=csids, kinds=kinds)
        self.bob = self.world.node("10.0.0.2", csids=csids, kinds=kinds)
        self.bob.accepts_strangers = True
        self.link = self.alice.link(self.bob)

    def up(self) -> "Pair":
        self.world.run_until(lambda: is_up(self.link) and is_up(self.back))
        return self

    @property
    def back(self) -> Link | None:
        """Bob's side of the link."""
        return self.bob.endpoint.links.get(self.alice.hashname)


def is_up(link: Link | None) -> bool:
    return link is not None and link.state is LinkState.UP


def notices(node: SimulatedEndpoint, kind: type[Kind]) -> list[Kind]:
    return [event for event in node.notices if isinstance(event, kind)]


class Collector:
    """Serves a channel type: keeps what arrives and ends when the peer has."""

    def __init__(self, node: SimulatedEndpoint, channel_type: str = "stream") -> None:
        self.node = node
        self.channels: list[Channel] = []
        self.bodies: list[bytes] = []
        self.is_reading = True
        self._link: Link | None = None
        node.serve(channel_type, self._opened)

    @property
    def data(self) -> bytes:
        return b"".join(self.bodies)

    def _opened(self, link: Link, channel: Channel) -> None:
        self._link = link
        self.channels.append(channel)
        self.node.watch(channel, lambda: self.read(channel))
        self.read(channel)

    def read(self, channel: Channel, limit: int = 1 << 30) -> None:
        assert self._link is not None
        while self.is_reading and limit and (message := channel.receive()) is not None:
            self.bodies.append(message.body)
            limit -= 1
        if channel.at_end and not channel.end_sent:
            channel.send({}, end=True)
        self.node.used(self._link, channel)


class Writer:
    """Sends bytes over a new channel as fast as it has room, then ends it."""

    def __init__(self, node: SimulatedEndpoint, link: Link, data: bytes) -> None:
        self.node, self.link = node, link
        self.channel = node.open(link, "stream")
        self._left = [data[at : at + FRAGMENT_SIZE] for at in range(0, len(data), FRAGMENT_SIZE)]
        self._left.reverse()
        node.watch(self.channel, self._write)
        self._write()

    def _write(self) -> None:
        while self.channel.receive() is not None:
            pass
        while self._left and self.channel.has_room and not self.channel.is_closed:
            self.channel.send({}, self._left.pop())
        if not self._left and self.channel.has_room and not self.channel.end_sent:
            self.channel.send({}, end=True)
        self.node.used(self.link, self.channel)
