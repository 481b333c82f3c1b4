"""An endpoint on real sockets: one identity, its gates and links, and the handlers of channels.

    gates ──packets──▶ Endpoint (the core) ──events──▶ links, channels, handlers
      ▲                                          │
      └────────────── transmissions ─────────────┘

It carries packets, time and requests back and forth; the core decides. Only channel types that
are served here are accepted. The code of a channel type is imported when it is first used: it takes
memory, and most endpoints use few.
"""

import asyncio
import os
import pathlib
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Final, Self

from rookery.errors import DecodeError, UnreachableError, UsageError
from rookery.identity.identity import Identity
from rookery.link.admission import AdmissionLimits
from rookery.link.channel import Channel as ChannelCore
from rookery.link.channels.sock import TYPE as SOCK
from rookery.link.discovery.announcement import announcements
from rookery.link.discovery.introductions import RoutingPolicy, route_for_links
from rookery.link.endpoint import Endpoint
from rookery.link.events import (
    ChannelChanged,
    ChannelOpened,
    Discovered,
    Event,
    HangUp,
    LinkDown,
    LinkForgotten,
    LinkUp,
    Transmit,
)
from rookery.link.link import Link as LinkCore
from rookery.link.link import LinkState
from rookery.link.session.handshake import Stranger
from rookery.runtime.endpoint.channel import AsyncChannel
from rookery.runtime.endpoint.discovery import Discovery
from rookery.runtime.endpoint.gates.gate import Gate
from rookery.runtime.endpoint.gates.udp_gate import UdpGate
from rookery.runtime.endpoint.handlers import ChannelHandlers, Handler
from rookery.runtime.endpoint.link import AsyncLink
from rookery.runtime.endpoint.pump import ClockJumpDetector, Pump, UpperLayer
from rookery.runtime.endpoint.resolve import checked_hashname, parse_link, resolved_paths
from rookery.wire.link.lob import JsonObject, Packet
from rookery.wire.link.path import Path, PeerPath
from rookery.wire.link.uri import LinkAddress
from rookery.wire.octets import Octets

if TYPE_CHECKING:
    from rookery.link.channels.sock_rules import Rules
    from rookery.runtime.endpoint.channels.box_keeper import BoxKeeper, OnBoxes
    from rookery.runtime.endpoint.channels.chat import Chats, OnInvite
    from rookery.runtime.endpoint.channels.sock import Sock
    from rookery.runtime.endpoint.channels.stream import LinkStream
    from rookery.runtime.endpoint.channels.thtp_asgi import AsgiApp
    from rookery.runtime.endpoint.channels.ws import WebSocket


def _closed_sock() -> "Sock":
    """A `Sock` that opens nothing for peers."""
    from rookery.runtime.endpoint.channels.sock import Sock

    return Sock()


OnDiscover = Callable[[Stranger], object]

DISCOVERY_S: Final = 120.0  # "used sparingly": announcing ends by itself


class AsyncEndpoint:
    """The local endpoint; made by `rookery.create`."""

    def __init__(
        self,
        identity: Identity,
        *,
        limits: AdmissionLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`clock` counts seconds, and `wall` those since 1970; uvloop counts only milliseconds."""
        self._loop = asyncio.get_running_loop()
        self._now = clock
        self._core = Endpoint(
            identity,
            random=os.urandom,
            unix_s=wall(),
            now=clock(),
            limits=limits or AdmissionLimits(),
        )
        self.on_discover: OnDiscover | None = None
        self._gates: list[Gate] = []
        self._gate_of: dict[str, Gate] = {}
        self._unflushed: list[Gate] = []  # gates that were sent to since the last flush
        self._links: dict[str, AsyncLink] = {}
        self._channels: dict[ChannelCore, AsyncChannel] = {}
        self._services = ChannelHandlers()
        self._discovery = Discovery(self)
        self.keeper: BoxKeeper | None = None
        self.make_sock: Callable[[], Sock] = _closed_sock
        self._sock: Sock | None = None
        self._chats: Chats | None = None
        self.serve(SOCK, self._handle_sock)  # brings the connections of our own `bind`s
        self.serve("profile", self._handle_profile)
        self.serve("chat", self._handle_chat)
        continuity = ClockJumpDetector(wall, clock())
        self._pump = Pump(self._core, self._carry_out, self._flush_gates, clock, continuity)
        self._is_closed = False

    @property
    def identity(self) -> Identity:
        return self._core.identity

    @property
    def hashname(self) -> str:
        return self._core.hashname

    @property
    def links(self) -> Mapping[str, AsyncLink]:
        return MappingProxyType(self._links)

    @property
    def dropped(self) -> Mapping[str, int]:
        """Packets refused so far, by kind of error."""
        return MappingProxyType(self._core.dropped)

    @property
    def is_discoverable(self) -> bool:
        return self._discovery.is_announcing

    @property
    def address(self) -> LinkAddress:
        """What others need to link with us: `.json()` or `.uri()`."""
        routers = [PeerPath(link.hashname) for link in self._core.links.values() if link.is_router]
        paths = (*self._core.own_paths, *routers)
        return LinkAddress(self.hashname, dict(self.identity.keys), paths)

    # --- links ---

    def link(self, to: str | JsonObject | LinkAddress | Stranger) -> AsyncLink:
        """The link to a URI, JSON link, hashname or discovered stranger; dialled at once."""
        if isinstance(to, Stranger):
            core = self._core.accept(to, self._now(), persistent=False)
        else:
            core = self._dial(parse_link(to))
        self._pump.soon()
        return self._link_of(core)

    def forget(self, link: AsyncLink) -> None:
        self._core.forget(link.core, self._now())
        self._pump.soon()

    def set_router(self, link: AsyncLink, is_router: bool) -> None:
        self._core.set_router(link.core, is_router, self._now())
        self._pump.soon()

    def route(self, policy: RoutingPolicy | None = route_for_links) -> None:
        """Be a router for our links, or for those that a policy lets connect."""
        self._core.route(policy)

    def discover(self, is_on: bool = True, *, seconds: float = DISCOVERY_S) -> None:
        """Announce ourselves on the local network for a while, or stop."""
        if is_on:
            self._discovery.announce(announcements(self.identity), seconds)
        else:
            self._discovery.be_silent()

    # --- channels ---

    def serve(self, kind: str, handler: Handler) -> None:
        """Have `handler(channel)` run for every channel of this type that a peer opens."""
        self._services.add(kind, handler)
        self._core.types.add(kind)

    def open(
        self,
        link: AsyncLink,
        kind: str,
        head: JsonObject,
        body: bytes,
        *,
        reliable: bool,
        end: bool,
    ) -> AsyncChannel:
        if end:
            head = {**head, "end": True}
        now = self._now()
        core = link.core.open(kind, head, body, reliable=reliable, now=now)
        self.touch(link)
        return self._channel_of(link, core)

    # --- bytes and HTTP ---

    def on_stream(self, handler: "Callable[[LinkStream], Awaitable[None]]") -> None:
        """Have every stream that a peer opens served; it is closed when the handler returns."""
        from rookery.link.channels.stream import TYPE
        from rookery.runtime.endpoint.channels.stream import stream_handler

        self.serve(TYPE, stream_handler(handler))

    def on_thtp(self, app: "AsgiApp") -> None:
        """Answer HTTP requests of peers with an ASGI application."""
        from rookery.runtime.endpoint.channels.thtp_asgi import serve_asgi

        self._serve_thtp(serve_asgi(app))

    def serve_files(self, folder: pathlib.Path) -> None:
        """Answer HTTP requests of peers with the files of a folder."""
        from rookery.runtime.endpoint.channels.thtp_files import serve_files

        self._serve_thtp(serve_files(folder))

    def proxy_http(self, url: str) -> None:
        """Answer HTTP requests of peers with what a local HTTP server says."""
        from rookery.runtime.endpoint.channels.thtp_proxy import serve_proxy

        self._serve_thtp(serve_proxy(url))

    def _serve_thtp(self, handler: Handler) -> None:
        from rookery.link.channels.thtp import TYPE

        self.serve(TYPE, handler)

    def on_ws(self, routes: "Mapping[str, Callable[[WebSocket], Awaitable[None]]]") -> None:
        """Accept WebSockets to these paths."""
        from rookery.link.channels.ws import TYPE
        from rookery.runtime.endpoint.channels.ws import serve_ws

        self.serve(TYPE, serve_ws(routes))

    # --- sockets ---

    @property
    def sock(self) -> "Sock":
        """Sockets at peers, and our sockets for peers."""
        if self._sock is None:
            self._sock = self.make_sock()
        return self._sock

    def on_sock(self, rules: "Rules") -> None:
        """Open sockets for peers, as far as the rules allow; without them none is opened."""
        from rookery.runtime.endpoint.channels.sock import Sock

        self._sock = Sock(rules)

    async def _handle_sock(self, channel: AsyncChannel) -> None:
        await self.sock.handle(channel)

    # --- chats ---

    @property
    def chats(self) -> "Chats":
        if self._chats is None:
            from rookery.runtime.endpoint.channels.chat import Chats

            self._chats = Chats(self.hashname, self.link_named)
        return self._chats

    def on_invite(self, handler: "OnInvite") -> None:
        """Call this when a peer invites us to a chat; accept with `endpoint.chats.accept`."""
        self.chats.on_invite = handler

    async def _handle_profile(self, channel: AsyncChannel) -> None:
        await self.chats.handle_profile(channel)

    async def _handle_chat(self, channel: AsyncChannel) -> None:
        await self.chats.handle_chat(channel)

    def _resume_chats(self, link: AsyncLink) -> None:
        """A link came up: chats go on where they were."""
        if self._chats is not None:
            self._chats.linked(link.hashname)

    async def _close_chats(self) -> None:
        if self._chats is not None:
            await self._chats.close()

    # --- boxes ---

    def keep_boxes(self, keeper: "BoxKeeper | None" = None) -> "BoxKeeper":
        """Keep sealed messages for peers that are away, and announce them when they return."""
        keeper = self.keeper = keeper or self._keeper()
        self.serve("outbox", keeper.handle_outbox)
        self.serve("inbox", keeper.handle_inbox)
        self.serve("boxes", keeper.handle_boxes)
        return keeper

    def on_boxes(self, handler: "OnBoxes") -> None:
        """Call this when a keeper has messages for us; `link.letters()` fetches them."""
        self.keeper = self._keeper()
        self.keeper.on_boxes = handler
        self.serve("boxes", self.keeper.handle_boxes)

    def _keeper(self) -> "BoxKeeper":
        from rookery.runtime.endpoint.channels.box_keeper import BoxKeeper

        return self.keeper or BoxKeeper()

    async def announce_boxes(self, link: AsyncLink) -> None:
        """Announce to a peer that came back what is kept for it."""
        if self.keeper is not None and link.is_up:
            await self.keeper.announce(link, link.hashname)

    # --- what runs on top ---

    @property
    def core(self) -> Endpoint:
        """For layers on top of the endpoint; programs do not need it."""
        return self._core

    def now(self) -> float:
        return self._now()

    def stir(self) -> None:
        """Run the pump soon, to carry out what was decided outside of it."""
        self._pump.soon()

    def attach(self, upper_layer: UpperLayer) -> None:
        """Drive this core as well: it gets all events, and is woken at its deadline."""
        self._pump.upper_layer = upper_layer
        self._pump.soon()

    # --- gates ---

    def add_gate(self, gate: Gate) -> None:
        """Carry packets through this gate as well."""
        self._gates.append(gate)
        for kind in gate.kinds:
            self._gate_of[kind] = gate
        self.gates_changed()
        if isinstance(gate, UdpGate):
            self._discovery.add(gate)

    def gates_changed(self, public: Iterable[Path] = ()) -> None:
        """Update our addresses after they changed; `public` ones lead here from outside."""
        listening = tuple(path for gate in self._gates for path in gate.paths)
        self._core.own_paths = (*listening, *public)

    def received(self, path: Path, packet: Packet) -> None:
        now = self._now()
        if self._pump.is_between_runs:
            self._pump.begin(now)
        self._core.received(path, packet, now)

    def received_sealed(self, path: Path, body: Octets) -> None:
        now = self._now()
        if self._pump.is_between_runs:
            self._pump.begin(now)
        self._core.received_sealed(path, body, now)

    def drained(self) -> None:
        self._pump.run()

    def lost(self, path: Path) -> None:
        self._core.lost(path, self._now())
        self._pump.soon()

    # --- closing ---

    async def close(self) -> None:
        """Tell the peers, end every task and close every socket."""
        if self._is_closed:
            return
        await self._close_chats()
        for link in list(self._links.values()):
            self.forget(link)
        self._is_closed = True
        self._pump.run()
        self._pump.close()
        await self._services.close()
        await self._discovery.close()
        for gate in self._gates:
            await gate.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    # --- the pump ---

    def touch(self, link: AsyncLink) -> None:
        self._core.touch(link.core)
        self._pump.soon()

    def use(self, link: AsyncLink, channel: ChannelCore) -> None:
        """A program has used a channel: something may be due, once it lets the loop go on."""
        self._pump.used(link.core, channel)

    def _flush_gates(self) -> None:
        if self._unflushed:
            gates, self._unflushed = self._unflushed, []
            for gate in gates:
                gate.flush()

    def _carry_out(self, event: Event) -> None:
        match event:
            case Transmit(path, data):
                gate = self._gate_of.get(path.kind)
                if gate is not None:
                    gate.send(path, data)
                    if gate not in self._unflushed:
                        self._unflushed.append(gate)
            case HangUp(path):
                gate = self._gate_of.get(path.kind)
                if gate is not None:
                    gate.hang_up(path)
            case ChannelChanged(core):
                self._wake(core)
            case ChannelOpened(link, core):
                self._services.serve(self._channel_of(self._link_of(link), core))
            case LinkUp(core):
                self._rose(self._link_of(core))
            case LinkDown(link):
                self._link_of(link).changed(LinkState.DOWN)
            case LinkForgotten(link):
                self._forgotten(link)
            case Discovered(stranger):
                self._discovered(stranger)

    def _rose(self, link: AsyncLink) -> None:
        link.changed(LinkState.UP)
        self._resume_chats(link)
        if self.keeper is not None:
            self._services.spawn(self.announce_boxes(link))

    def _wake(self, core: ChannelCore) -> None:
        channel = self._channels.get(core)
        if channel is not None:
            channel.wake()
            if core.is_closed:
                del self._channels[core]

    def _forgotten(self, core: LinkCore) -> None:
        link = self._links.get(core.hashname)
        if link is not None and link.core is core:
            del self._links[core.hashname]
            link.forgotten()

    def _discovered(self, stranger: Stranger) -> None:
        link = self._core.links.get(stranger.hashname)
        if link is not None:
            for path in stranger.paths:
                link.add_path(path, self._now(), configured=False)
        elif self.on_discover is not None:
            # Apart from the pump, so that what the callback raises stops nothing else.
            self._loop.call_soon(self.on_discover, stranger)

    def _link_of(self, core: LinkCore) -> AsyncLink:
        link = self._links.get(core.hashname)
        if link is None or link.core is not core:
            link = self._links[core.hashname] = AsyncLink(self, core)
        return link

    def _channel_of(self, link: AsyncLink, core: ChannelCore) -> AsyncChannel:
        channel = AsyncChannel(link, core)
        if not core.is_closed:
            self._channels[core] = channel
        return channel

    # --- names ---

    def _dial(self, address: LinkAddress) -> LinkCore:
        hashname = checked_hashname(address)
        if hashname == self.hashname:
            raise UsageError("that link leads back to this endpoint")
        now = self._now()
        try:
            core = self._core.link(hashname, address.keys, address.paths, now)
        except DecodeError as error:
            raise UsageError(f"the link holds a key that is none: {error}") from error
        if address.host:
            self._services.spawn(self._resolve(core, address))
        return core

    async def _resolve(self, core: LinkCore, address: LinkAddress) -> None:
        """Find the addresses of a named host; a link that is wanted waits for them meanwhile."""
        try:
            paths = await resolved_paths(address.host, address.port)
        except UnreachableError as error:
            core.last_error = str(error)
            return
        self._core.link(core.hashname, {}, paths, self._now())
        self._pump.soon()

    async def link_named(self, hashname: str) -> AsyncLink:
        """A link that is up, for services that know a peer only by its hashname."""
        return await self.link(hashname).up()
