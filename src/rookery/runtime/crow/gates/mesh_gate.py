"""Crow over the mesh: a hop to a hashname, along a link that is up.

    hop   | id | hashname |
          | 1  |    32    |

A packet is the body of a packet of an unreliable channel of type `crow`; each side opens one for
what it sends. Unlike with all other gates the other end is authenticated, and nothing between can
read or change what passes. Packets never cause a link: which peers to link with is decided by the
owner of the endpoint, not by an address in a packet.
"""

import asyncio
from collections.abc import Collection
from contextlib import suppress

from rookery.errors import ChannelError, DeniedError, RookeryError, UnreachableError, UsageError
from rookery.runtime.crow.gates.codec import CrowGateCodec, CrowGateCounters
from rookery.runtime.crow.gates.gate import CrowDropReason, CrowReceiver, checked_id
from rookery.runtime.endpoint.channel import AsyncChannel
from rookery.runtime.endpoint.endpoint import AsyncEndpoint
from rookery.runtime.endpoint.link import AsyncLink
from rookery.wire import base32
from rookery.wire.crow.packet import CrowPacket
from rookery.wire.link.lob import JsonObject

ID = 16
TYPE = "crow"
PACKET_SIZE_MAX = 60_000  # with all that a link adds it still fits a datagram

_HASHNAME_SIZE = 32
# In every packet, so that any of them opens the channel if the first is lost.
_HEAD: JsonObject = {"type": TYPE}


def hop(hashname: str, gate_id: int = ID) -> bytes:
    """What leads a packet to this endpoint; UsageError when it is no hashname."""
    with suppress(RookeryError):
        name = base32.decode(hashname)
        if len(name) == _HASHNAME_SIZE:
            return bytes([checked_id(gate_id)]) + name
    raise UsageError(f"{hashname!r} is not a hashname")


class CrowMeshGate:
    """One endpoint as a medium; `close` does not close the endpoint."""

    def __init__(
        self,
        receiver: CrowReceiver,
        endpoint: AsyncEndpoint,
        *,
        gate_id: int = ID,
        allow: Collection[str] | None = None,
    ) -> None:
        """`allow` are the hashnames the gate talks with, None for all that are linked."""
        self.id = checked_id(gate_id)
        self.address = hop(endpoint.hashname, gate_id)
        self._receiver = receiver
        self._endpoint = endpoint
        self._allow = allow
        self._codec = CrowGateCodec(receiver)
        self._loop = asyncio.get_running_loop()
        self._channels: dict[str, AsyncChannel] = {}
        self._incoming: set[AsyncChannel] = set()
        self._is_drain_due = False
        self._is_closed = False
        endpoint.serve(TYPE, self._serve)

    @property
    def counters(self) -> CrowGateCounters:
        return self._codec.counters

    def send(self, packet: CrowPacket) -> None:
        start = packet.stage + 1
        name = packet.address[start : start + _HASHNAME_SIZE]
        if len(name) != _HASHNAME_SIZE:
            self._codec.drop(CrowDropReason.UNFIT)
            return
        hashname = base32.encode(name)
        link = self._endpoint.links.get(hashname)
        if not self._allows(hashname):
            self._codec.drop(CrowDropReason.DENIED)
        elif self._is_closed or link is None or not link.is_up or not self._trusts(hashname):
            self._codec.drop(CrowDropReason.UNREACHABLE)
        elif (data := self._codec.leave(packet)) is not None:
            self._send(link, data)

    async def close(self) -> None:
        self._is_closed = True
        for channel in (*self._channels.values(), *self._incoming):
            channel.fail("closed")
        self._channels.clear()

    def _send(self, link: AsyncLink, data: bytes) -> None:
        if len(data) > PACKET_SIZE_MAX:
            self._codec.drop(CrowDropReason.UNFIT)
            return
        channel = self._channels.get(link.hashname)
        try:
            if channel is None or channel.is_closed:
                self._forget_strangers()
                self._channels[link.hashname] = link.open(TYPE, body=data, reliable=False)
            else:
                channel.post(_HEAD, data)
        except RookeryError:
            self._codec.drop(CrowDropReason.UNREACHABLE)
        else:
            self._codec.sent(len(data))

    async def _serve(self, channel: AsyncChannel) -> None:
        """What a peer sends, until it ends the channel."""
        hashname = channel.link.hashname
        if self._is_closed:
            raise UnreachableError("closed")
        if not self._allows(hashname) or channel.reliable:
            self._codec.drop(CrowDropReason.DENIED)
            raise DeniedError("not allowed")
        return_hop = hop(hashname, self.id)[::-1]
        self._incoming.add(channel)
        try:
            channel.post()  # an opening that nobody answers would be given up
            self._enter(channel.opening.body, return_hop)
            while (message := await channel.receive()) is not None:
                self._enter(message.body, return_hop)
        except ChannelError:
            pass
        finally:
            self._incoming.discard(channel)

    def _enter(self, data: bytes, return_hop: bytes) -> None:
        if self._codec.enter(data, return_hop) and not self._is_drain_due:
            self._is_drain_due = True
            self._loop.call_soon(self._drain)

    def _drain(self) -> None:
        self._is_drain_due = False
        self._receiver.drained()

    def _trusts(self, hashname: str) -> bool:
        """True for a member; a stranger may show a certificate and nothing else."""
        return self._endpoint.core.trusts(hashname)

    def _allows(self, hashname: str) -> bool:
        return self._allow is None or hashname in self._allow

    def _forget_strangers(self) -> None:
        links = self._endpoint.links
        self._channels = {name: kept for name, kept in self._channels.items() if name in links}
