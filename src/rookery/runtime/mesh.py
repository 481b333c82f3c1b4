"""A mesh: one identity on real sockets, its links, and whoever serves its channels.

    gates ──packets──▶ Endpoint (the core) ──events──▶ links, channels, handlers
      ▲                                          │
      └────────────── transmissions ─────────────┘

It carries packets, time and orders back and forth and decides nothing itself.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType, TracebackType
from typing import Final, Self

from rookery.errors import DecodeError, UnreachableError, UsageError
from rookery.identity.identity import Identity
from rookery.link.admission import AdmissionLimits
from rookery.link.announcement import announcements
from rookery.link.channel import Channel as ChannelCore
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
from rookery.link.introductions import RoutingPolicy, route_for_links
from rookery.link.link import Link as LinkCore
from rookery.link.link import LinkState
from rookery.link.stranger import Stranger
from rookery.runtime.channel import Channel
from rookery.runtime.continuity import Continuity
from rookery.runtime.discovery import Discovery
from rookery.runtime.gates.gate import Gate
from rookery.runtime.gates.udp_gate import UdpGate
from rookery.runtime.link import Link
from rookery.runtime.mesh_channels import MeshChannels
from rookery.runtime.pump import Pump, Resident
from rookery.runtime.resolve import checked_hashname, parse_link, resolved_paths
from rookery.runtime.services import Handler, Services
from rookery.wire.lob import JsonObject, Packet
from rookery.wire.octets import Octets
from rookery.wire.path import Path, PeerPath
from rookery.wire.uri import LinkAddress

OnDiscover = Callable[[Stranger], object]

DISCOVERY_S: Final = 120.0  # "used sparingly": announcing ends by itself


class Mesh(MeshChannels):
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
        self._given: list[Gate] = []  # those that were given something since the last flush
        self._links: dict[str, Link] = {}
        self._channels: dict[ChannelCore, Channel] = {}
        self._services = Services()
        self._discovery = Discovery(self)
        super().__init__()
        continuity = Continuity(wall, clock())
        self._pump = Pump(self._core, self._carry_out, self._flush_gates, clock, continuity)
        self._is_closed = False

    @property
    def identity(self) -> Identity:
        return self._core.identity

    @property
    def hashname(self) -> str:
        return self._core.hashname

    @property
    def links(self) -> Mapping[str, Link]:
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

    def link(self, to: str | JsonObject | LinkAddress | Stranger) -> Link:
        """The link to a URI, JSON link, hashname or discovered stranger; dialled at once."""
        if isinstance(to, Stranger):
            core = self._core.accept(to, self._now(), persistent=False)
        else:
            core = self._dial(parse_link(to))
        self._pump.soon()
        return self._link_of(core)

    def forget(self, link: Link) -> None:
        self._core.forget(link.core, self._now())
        self._pump.soon()

    def set_router(self, link: Link, is_router: bool) -> None:
        self._core.set_router(link.core, is_router, self._now())
        self._pump.soon()

    def route(self, policy: RoutingPolicy | None = route_for_links) -> None:
        """Be a router for our links, or for those of them that a policy lets meet."""
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
        self, link: Link, kind: str, head: JsonObject, body: bytes, *, reliable: bool, end: bool
    ) -> Channel:
        if end:
            head = {**head, "end": True}
        now = self._now()
        core = link.core.open(kind, head, body, reliable=reliable, now=now)
        self.touch(link)
        return self._channel_of(link, core)

    # --- what lives on top ---

    @property
    def core(self) -> Endpoint:
        """For those that extend the endpoint; programs have no use for it."""
        return self._core

    def now(self) -> float:
        return self._now()

    def stir(self) -> None:
        """Something was decided apart from the pump: have it carried out soon."""
        self._pump.soon()

    def house(self, resident: Resident) -> None:
        """Have somebody told of all events, and woken in time."""
        self._pump.resident = resident
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
        """The addresses we listen on are others now; `public` ones lead here from outside."""
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

    # --- life ---

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

    def touch(self, link: Link) -> None:
        self._core.touch(link.core)
        self._pump.soon()

    def use(self, link: Link, channel: ChannelCore) -> None:
        """A program has used a channel: something may be due, once it lets the loop go on."""
        self._pump.used(link.core, channel)

    def _flush_gates(self) -> None:
        if self._given:
            given, self._given = self._given, []
            for gate in given:
                gate.flush()

    def _carry_out(self, event: Event) -> None:
        match event:
            case Transmit(path, data):
                gate = self._gate_of.get(path.kind)
                if gate is not None:
                    gate.send(path, data)
                    if gate not in self._given:
                        self._given.append(gate)
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

    def _rose(self, link: Link) -> None:
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

    def _link_of(self, core: LinkCore) -> Link:
        link = self._links.get(core.hashname)
        if link is None or link.core is not core:
            link = self._links[core.hashname] = Link(self, core)
        return link

    def _channel_of(self, link: Link, core: ChannelCore) -> Channel:
        channel = Channel(link, core)
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

    async def link_named(self, hashname: str) -> Link:
        """A link that is up, for services that know somebody only by name."""
        return await self.link(hashname).up()
