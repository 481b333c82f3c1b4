"""Drives a node's core with time and events from the pump, and delivers what comes of it.

pump ──time, events──▶ core ──▶ tunnels, received datagrams, replies to pings
                        └─────▶ an observer, of everything that happens to links
"""

import asyncio
from collections.abc import Callable

from rookery.link.events import Event
from rookery.mesh.node import Node
from rookery.mesh.routing.datagrams import MeshDatagramArrived
from rookery.mesh.routing.echo import EchoOutcome
from rookery.runtime.tunnels.tunnels import AsyncTunnels

OnDatagram = Callable[[str, bytes], object]  # hashname, payload
OnEvent = Callable[[Event, float], None]


class NodeDriver:
    """Runs for every packet, so it is compiled where that is possible."""

    def __init__(self, core: Node, tunnels: AsyncTunnels, now: float) -> None:
        self.on_datagram: OnDatagram | None = None
        self.on_event: OnEvent | None = None
        self.worked_s = now  # when the core was last given time
        self._core = core
        self._tunnels = tunnels
        self._pending: dict[bytes, asyncio.Future[EchoOutcome]] = {}

    def expect(self, token: bytes) -> "asyncio.Future[EchoOutcome]":
        """The outcome of the echo with this token; call `forget` in the end."""
        outcome: asyncio.Future[EchoOutcome] = asyncio.get_running_loop().create_future()
        self._pending[token] = outcome
        return outcome

    def forget(self, token: bytes) -> None:
        self._pending.pop(token, None)

    # --- `UpperLayer` of the pump ---

    @property
    def deadline(self) -> float | None:
        return self._core.deadline

    def tick(self, now: float) -> bool:
        self.worked_s = now
        return self._core.tick(now)

    def handle(self, event: Event, now: float) -> None:
        if self.on_event is not None:
            self.on_event(event, now)
        self._core.handle(event, now)

    @property
    def has_more(self) -> bool:
        return self._core.has_more

    def report(self) -> None:
        self._tunnels.happened()

    def flush(self, now: float) -> None:
        self._core.flush(now)
        self._tunnels.happened()
        for event in self._core.take():
            if isinstance(event, MeshDatagramArrived):
                if self.on_datagram is not None:
                    self.on_datagram(event.hashname, event.payload)
            elif (pending := self._pending.get(event.token)) is not None and not pending.done():
                pending.set_result(event)
