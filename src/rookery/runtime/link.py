"""A link as programs see it: its state, its events, and every channel directly off it."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from rookery.errors import UnreachableError
from rookery.link.channel import Channel as ChannelCore
from rookery.link.link import Link as LinkCore
from rookery.link.link import LinkState
from rookery.runtime.channel import Channel
from rookery.runtime.link_channels import LinkChannels
from rookery.wire.lob import JsonObject
from rookery.wire.path import Path

if TYPE_CHECKING:
    from rookery.runtime.mesh import Mesh

UP_S_MAX = 30.0
_EVENTS_MAX = 64  # what a slow listener may lag behind; older ones are dropped


class LinkEvents:
    """Up and down events, from the moment of asking on; ends when the link is forgotten."""

    def __init__(self) -> None:
        self._events: deque[LinkState] = deque(maxlen=_EVENTS_MAX)
        self._arrived = asyncio.Event()
        self._closed = False

    def push(self, state: LinkState) -> None:
        self._events.append(state)
        self._arrived.set()

    def close(self) -> None:
        self._closed = True
        self._arrived.set()

    def __aiter__(self) -> AsyncIterator[LinkState]:
        return self

    async def __anext__(self) -> LinkState:
        while not self._events:
            if self._closed:
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        return self._events.popleft()


class Link(LinkChannels):
    """The encrypted session with one other endpoint; made by `Mesh.link`."""

    def __init__(self, mesh: "Mesh", core: LinkCore) -> None:
        self.mesh = mesh
        self.core = core
        self._listeners: list[LinkEvents] = []

    def __repr__(self) -> str:
        return f"<Link {self.hashname[:8]} {self.state.value}>"

    @property
    def hashname(self) -> str:
        return self.core.hashname

    @property
    def state(self) -> LinkState:
        return self.core.state

    @property
    def is_up(self) -> bool:
        return self.core.state is LinkState.UP

    @property
    def path(self) -> Path | None:
        """The path in use."""
        return self.core.paths.best

    @property
    def paths(self) -> tuple[Path, ...]:
        """Every path that is known, working or not."""
        return tuple(state.path for state in self.core.paths)

    @property
    def rtt(self) -> float | None:
        """Seconds to the peer and back over the path in use, as last measured."""
        best = self.core.paths.best_state
        return best.rtt if best is not None else None

    @property
    def csid(self) -> int | None:
        """The cipher set both sides have agreed on."""
        return self.core.csid

    @property
    def last_error(self) -> str | None:
        return self.core.last_error

    @property
    def fragment_size(self) -> int:
        return self.core.fragment_size

    async def up(self, timeout_s: float = UP_S_MAX) -> "Link":
        """Wait until the link is up; UnreachableError when it does not come up in time."""
        events = self.events()
        try:
            async with asyncio.timeout(timeout_s):
                while not self.is_up:
                    await anext(events)
        except (TimeoutError, StopAsyncIteration) as error:
            reason = self.last_error or "no answer"
            raise UnreachableError(f"{self.hashname[:8]} is not reachable: {reason}") from error
        finally:
            self._listeners.remove(events)
        return self

    def events(self) -> LinkEvents:
        """`async for state in link.events():` every change from now on."""
        events = LinkEvents()
        self._listeners.append(events)
        return events

    def router(self, is_router: bool = True) -> None:
        """Trust this link to help us reach all others, and others to reach us."""
        self.mesh.set_router(self, is_router)

    def close(self) -> None:
        """End the link and forget it."""
        self.mesh.forget(self)

    def open(
        self,
        kind: str,
        /,
        head: JsonObject | None = None,
        body: bytes = b"",
        *,
        reliable: bool = True,
        end: bool = False,
    ) -> Channel:
        """Open a channel of any type; UnreachableError unless the link is up."""
        return self.mesh.open(self, kind, head or {}, body, reliable=reliable, end=end)

    # --- for the mesh ---

    def used(self, channel: ChannelCore) -> None:
        self.mesh.use(self, channel)

    def changed(self, state: LinkState) -> None:
        for listener in self._listeners:
            listener.push(state)

    def forgotten(self) -> None:
        for listener in self._listeners:
            listener.close()
