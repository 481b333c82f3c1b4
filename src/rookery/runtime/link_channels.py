"""Every channel directly off a link: `link.stream()`, `await link.thtp("GET", "/")`, …

As off a mesh, the code of a channel type is loaded when it is first used.
"""

import contextlib
import os
import time
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from typing import TYPE_CHECKING

from rookery.errors import RemoteError
from rookery.runtime.channel import Channel
from rookery.runtime.resolve import checked_hashname
from rookery.wire.lob import JsonObject
from rookery.wire.uri import LinkAddress

if TYPE_CHECKING:
    from rookery.link.channels.box_seal import Letter
    from rookery.runtime.channels.box import BoxClient
    from rookery.runtime.channels.chat_room import ChatRoom
    from rookery.runtime.channels.sock import Binding, Forward, OnAccept, SockDatagrams
    from rookery.runtime.channels.stream import Stream
    from rookery.runtime.channels.thtp import Response
    from rookery.runtime.channels.ws import WebSocket
    from rookery.runtime.mesh import Mesh


class LinkChannels:
    """What `Link` offers its user beside its state."""

    mesh: "Mesh"

    @property
    def hashname(self) -> str:
        raise NotImplementedError

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
        raise NotImplementedError

    def stream(self, options: JsonObject | None = None) -> "Stream":
        """Bytes both ways; the options tell the peer what for."""
        from rookery.runtime.channels.stream import open_stream

        return open_stream(self, options)

    async def thtp(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | AsyncIterable[bytes] = b"",
    ) -> "Response":
        """An HTTP request to the peer; the body of the response is read from what returns."""
        from rookery.runtime.channels.thtp import request

        return await request(self, method, path, headers, body)

    async def ws(self, path: str = "/") -> "WebSocket":
        """Messages both ways, as over a WebSocket."""
        from rookery.runtime.channels.ws import connect

        return await connect(self, path)

    async def connect(self, host: str, port: int) -> "Stream":
        """A TCP connection made by the peer; its rules must allow it."""
        return await self.mesh.sock.connect(self, host, port)

    async def forward(self, local_host: str, local_port: int, host: str, port: int) -> "Forward":
        """Listen here, and have the peer connect to there."""
        return await self.mesh.sock.forward(self, local_host, local_port, host, port)

    async def bind(self, port: int, on_accept: "OnAccept") -> "Binding":
        """Have the peer listen, and every connection brought here."""
        return await self.mesh.sock.bind(self, port, on_accept)

    async def udp(self, host: str, port: int) -> "SockDatagrams":
        """Datagrams to one address, sent by the peer."""
        return await self.mesh.sock.udp(self, host, port)

    async def chat(self, name: str) -> "ChatRoom":
        """A new chat with the peer invited; `name` is how it sees us."""
        room = self.mesh.chats.create(name)
        await room.invite(self.hashname)
        return room

    @property
    def box(self) -> "BoxClient":
        """The peer as a keeper of sealed messages; `leave` and `letters` seal and open them."""
        from rookery.runtime.channels.box import BoxClient

        return BoxClient(self, self.mesh.hashname)

    async def leave(
        self, recipient: LinkAddress, content: bytes, lifetime_s: int | None = None
    ) -> bytes:
        """Have the peer keep a message for somebody who is away; its id."""
        from rookery.link.channels.box_seal import seal

        sealed = seal(self.mesh.identity, recipient.keys, content, int(time.time()), os.urandom)
        return await self.box.put(checked_hashname(recipient), sealed, lifetime_s)

    async def letters(self) -> AsyncIterator["Letter"]:
        """Fetch what the peer keeps for us, oldest first; what was read is forgotten there."""
        from rookery.link.channels.box_seal import unseal

        for box in await self.box.waiting():
            async with self.box.inbox(box) as inbox:
                async for message in inbox:
                    with contextlib.suppress(RemoteError):  # not from whom it says: nobody's
                        yield unseal(self.mesh.identity, message)
                    await inbox.forget(message)

    async def udp_bind(self, port: int = 0) -> "SockDatagrams":
        """A UDP socket at the peer."""
        return await self.mesh.sock.udp_bind(self, port)
