"""Every channel directly off a mesh: who answers when a peer opens one.

Nothing is served until it is asked for here; a peer that opens another type is told so. The code
of a channel type is loaded when it is first used: it takes memory, and most endpoints use few.
"""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rookery.link.channels.sock import TYPE as SOCK
from rookery.runtime.channel import Channel
from rookery.runtime.link import Link
from rookery.runtime.services import Handler

if TYPE_CHECKING:
    from rookery.link.channels.sock_rules import Rules
    from rookery.runtime.channels.box_keeper import BoxKeeper, OnBoxes
    from rookery.runtime.channels.chat import Chats, OnInvite
    from rookery.runtime.channels.sock import Sock
    from rookery.runtime.channels.stream import Stream
    from rookery.runtime.channels.thtp_asgi import AsgiApp
    from rookery.runtime.channels.ws import WebSocket


class MeshChannels:
    """What `Mesh` offers its user beside links."""

    def __init__(self) -> None:
        self.keeper: BoxKeeper | None = None
        self.make_sock: Callable[[], Sock] = _closed_sock
        self._sock: Sock | None = None
        self._chats: Chats | None = None
        self.serve(SOCK, self._handle_sock)  # brings the connections of our own `bind`s
        self.serve("profile", self._handle_profile)
        self.serve("chat", self._handle_chat)

    @property
    def hashname(self) -> str:
        raise NotImplementedError

    def serve(self, kind: str, handler: Handler) -> None:
        raise NotImplementedError

    async def link_named(self, hashname: str) -> Link:
        raise NotImplementedError

    # --- bytes and HTTP ---

    def on_stream(self, handler: "Callable[[Stream], Awaitable[None]]") -> None:
        """Have every stream that a peer opens served; it is closed when the handler returns."""
        from rookery.link.channels.stream import TYPE
        from rookery.runtime.channels.stream import stream_handler

        self.serve(TYPE, stream_handler(handler))

    def on_thtp(self, app: "AsgiApp") -> None:
        """Answer HTTP requests of peers with an ASGI application."""
        from rookery.runtime.channels.thtp_asgi import serve_asgi

        self._serve_thtp(serve_asgi(app))

    def serve_files(self, folder: Path) -> None:
        """Answer HTTP requests of peers with the files of a folder."""
        from rookery.runtime.channels.thtp_files import serve_files

        self._serve_thtp(serve_files(folder))

    def proxy_http(self, url: str) -> None:
        """Answer HTTP requests of peers with what a local HTTP server says."""
        from rookery.runtime.channels.thtp_proxy import serve_proxy

        self._serve_thtp(serve_proxy(url))

    def _serve_thtp(self, handler: Handler) -> None:
        from rookery.link.channels.thtp import TYPE

        self.serve(TYPE, handler)

    def on_ws(self, routes: "Mapping[str, Callable[[WebSocket], Awaitable[None]]]") -> None:
        """Accept WebSockets to these paths."""
        from rookery.link.channels.ws import TYPE
        from rookery.runtime.channels.ws import serve_ws

        self.serve(TYPE, serve_ws(routes))

    # --- sockets ---

    @property
    def sock(self) -> "Sock":
        """Sockets at peers, and ours for them."""
        if self._sock is None:
            self._sock = self.make_sock()
        return self._sock

    def on_sock(self, rules: "Rules") -> None:
        """Open sockets for peers, as far as the rules allow; without them none is opened."""
        from rookery.runtime.channels.sock import Sock

        self._sock = Sock(rules)

    async def _handle_sock(self, channel: Channel) -> None:
        await self.sock.handle(channel)

    # --- chats ---

    @property
    def chats(self) -> "Chats":
        if self._chats is None:
            from rookery.runtime.channels.chat import Chats

            self._chats = Chats(self.hashname, self.link_named)
        return self._chats

    def on_invite(self, handler: "OnInvite") -> None:
        """Be told when a peer asks us into a chat; answer with `mesh.chats.accept`."""
        self.chats.on_invite = handler

    async def _handle_profile(self, channel: Channel) -> None:
        await self.chats.handle_profile(channel)

    async def _handle_chat(self, channel: Channel) -> None:
        await self.chats.handle_chat(channel)

    def _resume_chats(self, link: Link) -> None:
        """A link came up: chats go on where they were."""
        if self._chats is not None:
            self._chats.linked(link.hashname)

    async def _close_chats(self) -> None:
        if self._chats is not None:
            await self._chats.close()

    # --- boxes ---

    def keep_boxes(self, keeper: "BoxKeeper | None" = None) -> "BoxKeeper":
        """Keep sealed messages for those who are away, and tell them when they return."""
        keeper = self.keeper = keeper or self._keeper()
        self.serve("outbox", keeper.handle_outbox)
        self.serve("inbox", keeper.handle_inbox)
        self.serve("boxes", keeper.handle_boxes)
        return keeper

    def on_boxes(self, handler: "OnBoxes") -> None:
        """Be told when a keeper has something for us; `link.letters()` fetches it."""
        self.keeper = self._keeper()
        self.keeper.on_boxes = handler
        self.serve("boxes", self.keeper.handle_boxes)

    def _keeper(self) -> "BoxKeeper":
        from rookery.runtime.channels.box_keeper import BoxKeeper

        return self.keeper or BoxKeeper()

    async def announce_boxes(self, link: Link) -> None:
        """Tell a peer that came back what is kept for it."""
        if self.keeper is not None and link.is_up:
            await self.keeper.announce(link, link.hashname)


def _closed_sock() -> "Sock":
    """Opens nothing for others."""
    from rookery.runtime.channels.sock import Sock

    return Sock()
