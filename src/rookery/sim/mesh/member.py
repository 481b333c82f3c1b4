"""A member of a realm in the deterministic world: an endpoint, and the mesh core on top of it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from rookery.identity.signing import Verify
from rookery.link.endpoint import Endpoint
from rookery.link.events import ChannelChanged, ChannelOpened, Event, HangUp, Transmit
from rookery.link.link import Link
from rookery.mesh.membership.membership import Membership
from rookery.mesh.node import Node as MeshCore
from rookery.mesh.node_settings import NodeSettings
from rookery.mesh.routing.datagrams import MeshDatagramArrived
from rookery.mesh.routing.echo import EchoOutcome
from rookery.sim.endpoint import SimulatedEndpoint
from rookery.wire.link.frame_types import FORWARD
from rookery.wire.link.path import Arrival, NetPath, Path, RoutePath
from rookery.wire.mesh.node_id import NodeId

if TYPE_CHECKING:
    from rookery.sim.world import World

# Called for every forwarded packet that reaches a node: node, neighbour, head, body.
PacketWatcher = Callable[["SimulatedMember", NodeId, bytes, bytes], None]


class SimulatedMember(SimulatedEndpoint):
    """One member; `core` is the very code that ships."""

    def __init__(
        self,
        world: "World",
        endpoint: Endpoint,
        paths: tuple[NetPath, ...],
        membership: Membership,
        settings: NodeSettings,
        *,
        epoch: int,
        verify: Verify,
        watcher: PacketWatcher,
    ) -> None:
        super().__init__(world, endpoint, paths)
        endpoint.own_paths = settings.paths
        self.epoch = epoch
        self.began_s = world.now
        self.outcomes: list[EchoOutcome] = []
        self.datagrams: list[MeshDatagramArrived] = []
        self._watcher = watcher
        self.core = MeshCore(
            endpoint,
            membership,
            settings,
            epoch=epoch,
            now=world.now,
            verify=verify,
            queue_size=self._queued,
        )
        endpoint.frame_reader = self._frame_received

    @property
    def id(self) -> NodeId:
        return self.core.own.node

    def settle(self) -> None:
        """Carry out what the endpoint and the core have decided."""
        self.is_due = False
        if self.is_frozen or not self.is_running:
            return
        now, endpoint, core = self._world.now, self.endpoint, self.core
        core.flush(now)
        endpoint.flush(now)
        while events := endpoint.take():
            for event in events:
                self._happened(event, now)
            core.flush(now)
            endpoint.flush(now)
        for outcome in core.take():
            if isinstance(outcome, MeshDatagramArrived):
                self.datagrams.append(outcome)
            else:
                self.outcomes.append(outcome)
        self.wake_at(core.deadline)
        self.wake_at(endpoint.deadline)

    def tick(self, now: float) -> None:
        self.endpoint.tick(now)
        self.core.tick(now)

    def _happened(self, event: Event, now: float) -> None:
        match event:
            case Transmit(RoutePath(hashname), data):
                self.core.send_over_route(hashname, data, now)
            case Transmit(path, data):
                self.transmit(path, data)
            case HangUp(path):
                self.hang_up(path)
            case ChannelOpened() | ChannelChanged():
                self._carry_out(event, now)
            case _:
                self.core.handle(event, now)

    def _frame_received(
        self,
        link: Link,
        path: Path,
        head: bytes,
        body: bytes | memoryview,
        now: float,
        arrival: Arrival | None,
    ) -> None:
        if head[0] == FORWARD:
            neighbour = self.core.neighbourhood.get(link.hashname)
            if neighbour is not None:
                self._watcher(self, neighbour.member.node, head, bytes(body))
        self.core.frame_received(link, path, head, body, now, arrival)

    def _queued(self, path: Path) -> int:
        assert isinstance(path, NetPath)
        return self._world.connections.queued(self, path)
