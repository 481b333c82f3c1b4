"""Every channel directly off a mesh: who answers when a peer opens one.

Nothing is served until it is asked for here; a peer that opens another type is told so.
"""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rookery.link.channels.sock import TYPE as SOCK
from rookery.link.channels.sock_rules import Rules
from rookery.link.channels.stream import TYPE as STREAM
from rookery.link.channels.thtp import TYPE as THTP
from rookery.link.channels.ws import TYPE as WS
from rookery.runtime.channels.box_keeper import BoxKeeper, OnBoxes
from rookery.runtime.channels.chat import Chats, OnInvite
from rookery.runtime.channels.sock import Sock
from rookery.runtime.channels.stream import Stream, stream_handler
from rookery.runtime.channels.ws import WebSocket, serve_ws
from rookery.runtime.link import Link
from rookery.runtime.services import Handler

if TYPE_CHECKING:
    from rookery.runtime.channels.thtp_asgi import AsgiApp


class MeshChannels:
    """What `Mesh` offers its user beside links."""

    sock: Sock
    chats: Chats
    keeper: BoxKeeper | None = None

    def serve(self, kind: str, handler: Handler) -> None:
        raise NotImplementedError

    def on_stream(self, handler: Callable[[Stream], Awaitable[None]]) -> None:
        """Have every stream that a peer opens served; it is closed when the handler returns."""
        self.serve(STREAM, stream_handler(handler))

    # Whoever serves no HTTP does without the memory for it.

    def on_thtp(self, app: "AsgiApp") -> None:
        """Answer HTTP requests of peers with an ASGI application."""
        from rookery.runtime.channels.thtp_asgi import serve_asgi

        self.serve(THTP, serve_asgi(app))

    def serve_files(self, folder: Path) -> None:
        """Answer HTTP requests of peers with the files of a folder."""
        from rookery.runtime.channels.thtp_files import serve_files

        self.serve(THTP, serve_files(folder))

    def proxy_http(self, url: str) -> None:
        """Answer HTTP requests of peers with what a local HTTP server says."""
        from rookery.runtime.channels.thtp_proxy import serve_proxy

        self.serve(THTP, serve_proxy(url))

    def on_ws(self, routes: Mapping[str, Callable[[WebSocket], Awaitable[None]]]) -> None:
        """Accept WebSockets to these paths."""
        self.serve(WS, serve_ws(routes))

    def on_sock(self, rules: Rules) -> None:
        """Open sockets for peers, as far as the rules allow; without them none is opened."""
        self.sock = Sock(rules)
        self.serve(SOCK, self.sock.handle)

    def on_invite(self, handler: OnInvite) -> None:
        """Be told when a peer asks us into a chat; answer with `mesh.chats.accept`."""
        self.chats.on_invite = handler

    def keep_boxes(self, keeper: BoxKeeper | None = None) -> BoxKeeper:
        """Keep sealed messages for those who are away, and tell them when they return."""
        keeper = self.keeper = keeper or self.keeper or BoxKeeper()
        self.serve("outbox", keeper.handle_outbox)
        self.serve("inbox", keeper.handle_inbox)
        self.serve("boxes", keeper.handle_boxes)
        return keeper

    def on_boxes(self, handler: OnBoxes) -> None:
        """Be told when a keeper has something for us; `link.letters()` fetches it."""
        self.keeper = self.keeper or BoxKeeper()
        self.keeper.on_boxes = handler
        self.serve("boxes", self.keeper.handle_boxes)

    async def announce_boxes(self, link: Link) -> None:
        """Tell a peer that came back what is kept for it."""
        if self.keeper is not None and link.is_up:
            await self.keeper.announce(link, link.hashname)
