"""The link to one peer: its state, and the channels that are opened on it.

As in the endpoint, the code of a channel type is imported when it is first used.
"""

import asyncio
import contextlib
import os
import time
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from typing import TYPE_CHECKING

from rookery.errors import RemoteError, UnreachableError
from rookery.link.channel import Channel as ChannelCore
from rookery.link.link import Link as LinkCore
from rookery.link.link import LinkState
from rookery.runtime.endpoint.channel import AsyncChannel
from rookery.runtime.endpoint.resolve import checked_hashname
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.path import Path
from rookery.wire.link.uri import LinkAddress

if TYPE_CHECKING:
    from rookery.link.channels.box_seal import BoxMessage
    from rookery.runtime.endpoint.channels.box import BoxClient
    from rookery.runtime.endpoint.channels.chat_room import ChatRoom
    from rookery.runtime.endpoint.channels.sock import (
        OnAccept,
        SockBinding,
        SockDatagrams,
        SockForward,
    )
    from rookery.runtime.endpoint.channels.stream import LinkStream
    from rookery.runtime.endpoint.channels.thtp import ThtpResponse
    from rookery.runtime.endpoint.channels.ws import WebSocket
    from rookery.runtime.endpoint.endpoint import AsyncEndpoint


UP_S_MAX = 30.0
_EVENTS_MAX = 64  # what a slow listener may lag behind; older ones are dropped


class LinkEvents:
    """Up and down events from now on; ends when the link is forgotten."""

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


class AsyncLink:
    """The encrypted session with one other endpoint; made by `AsyncEndpoint.link`."""

    def __init__(self, endpoint: "AsyncEndpoint", core: LinkCore) -> None:
        self.endpoint = endpoint
        self.core = core
        self._listeners: list[LinkEvents] = []

    def __repr__(self) -> str:
        return f"<AsyncLink {self.hashname[:8]} {self.state.value}>"

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

    async def up(self, timeout_s: float = UP_S_MAX) -> "AsyncLink":
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
        self.endpoint.set_router(self, is_router)

    def close(self) -> None:
        """End the link and forget it."""
        self.endpoint.forget(self)

    def open(
        self,
        kind: str,
        /,
        head: JsonObject | None = None,
        body: bytes = b"",
        *,
        reliable: bool = True,
        end: bool = False,
    ) -> AsyncChannel:
        """Open a channel of any type; UnreachableError unless the link is up."""
        return self.endpoint.open(self, kind, head or {}, body, reliable=reliable, end=end)

    # --- channels of each type ---

    def stream(self, options: JsonObject | None = None) -> "LinkStream":
        """A byte stream; the options tell the peer its purpose."""
        from rookery.runtime.endpoint.channels.stream import open_stream

        return open_stream(self, options)

    async def thtp(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | AsyncIterable[bytes] = b"",
    ) -> "ThtpResponse":
        """An HTTP request to the peer; the body of the response is read from what returns."""
        from rookery.runtime.endpoint.channels.thtp import request

        return await request(self, method, path, headers, body)

    async def ws(self, path: str = "/") -> "WebSocket":
        """Messages both ways, as over a WebSocket."""
        from rookery.runtime.endpoint.channels.ws import connect

        return await connect(self, path)

    async def connect(self, host: str, port: int) -> "LinkStream":
        """A TCP connection made by the peer; its rules must allow it."""
        return await self.endpoint.sock.connect(self, host, port)

    async def forward(
        self, local_host: str, local_port: int, host: str, port: int
    ) -> "SockForward":
        """Listen here, and have the peer connect to there."""
        return await self.endpoint.sock.forward(self, local_host, local_port, host, port)

    async def bind(self, port: int, on_accept: "OnAccept") -> "SockBinding":
        """Have the peer listen, and every connection brought here."""
        return await self.endpoint.sock.bind(self, port, on_accept)

    async def udp(self, host: str, port: int) -> "SockDatagrams":
        """Datagrams to one address, sent by the peer."""
        return await self.endpoint.sock.udp(self, host, port)

    async def chat(self, name: str) -> "ChatRoom":
        """A new chat with the peer invited; `name` is how it sees us."""
        room = self.endpoint.chats.create(name)
        await room.invite(self.hashname)
        return room

    @property
    def box(self) -> "BoxClient":
        """The peer as a keeper of sealed messages; `leave` and `letters` seal and open them."""
        from rookery.runtime.endpoint.channels.box import BoxClient

        return BoxClient(self, self.endpoint.hashname)

    async def leave(
        self, recipient: LinkAddress, content: bytes, lifetime_s: int | None = None
    ) -> bytes:
        """Have the peer keep a message for a recipient that is away; returns its id."""
        from rookery.link.channels.box_seal import seal

        sealed = seal(self.endpoint.identity, recipient.keys, content, int(time.time()), os.urandom)
        return await self.box.put(checked_hashname(recipient), sealed, lifetime_s)

    async def letters(self) -> AsyncIterator["BoxMessage"]:
        """Fetch messages that the peer keeps for us, oldest first; read ones are deleted there."""
        from rookery.link.channels.box_seal import unseal

        for box in await self.box.waiting():
            async with self.box.inbox(box) as inbox:
                async for message in inbox:
                    with contextlib.suppress(
                        RemoteError
                    ):  # forged: it is not from the sender it names
                        yield unseal(self.endpoint.identity, message)
                    await inbox.forget(message)

    async def udp_bind(self, port: int = 0) -> "SockDatagrams":
        """A UDP socket at the peer."""
        return await self.endpoint.sock.udp_bind(self, port)

    # --- for the endpoint ---

    def used(self, channel: ChannelCore) -> None:
        self.endpoint.use(self, channel)

    def changed(self, state: LinkState) -> None:
        for listener in self._listeners:
            listener.push(state)

    def forgotten(self) -> None:
        for listener in self._listeners:
            listener.close()
