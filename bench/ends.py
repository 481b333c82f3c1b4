"""The two ends of a measured link: endpoints with one gate each, so traffic has one path.

server:  `stream`   takes everything, answers with how much it was
         `echo`     gives every packet back
         `packets`  counts what arrives and when; `count` tells
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import msgspec

from rookery.identity.identity import Identity
from rookery.link.admission import AdmissionLimits
from rookery.link.session.handshake import Stranger
from rookery.runtime.endpoint.channel import AsyncChannel
from rookery.runtime.endpoint.channels.stream import LinkStream, stream_handler
from rookery.runtime.endpoint.endpoint import AsyncEndpoint
from rookery.runtime.endpoint.gates.gate import GateCounters
from rookery.runtime.endpoint.gates.tcp_gate import TcpGate
from rookery.runtime.endpoint.gates.udp_gate import UdpGate

UNLIMITED = AdmissionLimits(
    stranger_share=1e6,
    stranger_burst_s=1e6,
    address_per_s=1e9,
    address_burst=1e9,
    peer_per_s=1e9,
    peer_burst=1e9,
)


@dataclass(frozen=True, slots=True)
class LinkVariant:
    """Cipher set and transport of a measured link."""

    csid: int
    carrier: str  # "udp" or "tcp"

    def __str__(self) -> str:
        return f"`{self.csid:02x}` {self.carrier.upper()}"


VARIANTS = [LinkVariant(csid, carrier) for carrier in ("udp", "tcp") for csid in (0x40, 0x3A, 0x2A)]


class End(msgspec.Struct):
    """An endpoint and the counters of its only gate."""

    endpoint: AsyncEndpoint
    counters: GateCounters

    @property
    def packet_size(self) -> float:
        """What one packet measured on the wire, on average."""
        return self.counters.bytes_out / max(self.counters.packets_out, 1)


@asynccontextmanager
async def end(variant: LinkVariant, identity: Identity | None = None) -> AsyncIterator[End]:
    """An endpoint on loopback that links with everybody."""
    endpoint = AsyncEndpoint(
        identity or Identity.generate([variant.csid], os.urandom), limits=UNLIMITED
    )
    endpoint.on_discover = partial(_accept, endpoint)
    gate: UdpGate | TcpGate
    if variant.carrier == "udp":
        gate = await UdpGate.bind(endpoint)
    else:
        gate = TcpGate(endpoint)
        await gate.listen()
    endpoint.add_gate(gate)
    async with endpoint:
        yield End(endpoint, gate.counters)


def _accept(endpoint: AsyncEndpoint, stranger: Stranger) -> None:
    endpoint.link(stranger)


class Tally:
    """What `packets` channels brought."""

    def __init__(self) -> None:
        self.packets = 0
        self.began_s = self.ended_s = 0.0

    async def take(self, channel: AsyncChannel) -> None:
        """Count until the peer ends."""
        self.packets, self.began_s = 0, time.perf_counter()
        while await channel.receive() is not None:
            self.packets += 1
            self.ended_s = time.perf_counter()

    async def tell(self, channel: AsyncChannel) -> None:
        """Say how many arrived, and in how many seconds."""
        await channel.send({"packets": self.packets, "seconds": self.ended_s - self.began_s})


def serve_all(endpoint: AsyncEndpoint) -> None:
    """Have an endpoint answer every channel that is measured."""
    tally = Tally()
    endpoint.serve("stream", stream_handler(_swallow))
    endpoint.serve("echo", _echo)
    endpoint.serve("packets", tally.take)
    endpoint.serve("count", tally.tell)


async def _swallow(stream: LinkStream) -> None:
    size = 0
    async for chunk in stream:
        size += len(chunk)
    stream.write(str(size).encode())
    await stream.drain()


async def _echo(channel: AsyncChannel) -> None:
    while (message := await channel.receive()) is not None:
        await channel.send(None, message.body)


async def breathe() -> None:
    """Let the loop have a turn."""
    await asyncio.sleep(0)
