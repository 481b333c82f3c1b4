"""The victim of hostile input, and its friend: each a process that answers for itself.

The victim knows its friends and nobody else, and is not to be discovered. So whatever anybody else
sends, not a byte may come back.
"""

import asyncio
import logging
import os
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection

from bench.ends import serve_all
from bench.process import ordered, resident_bytes
from rookery.identity.cipher_set import KeyPair
from rookery.identity.identity import Identity
from rookery.link.admission import AdmissionLimits
from rookery.runtime.endpoint.channels.stream import open_stream
from rookery.runtime.endpoint.endpoint import AsyncEndpoint
from rookery.runtime.endpoint.gates.gate import GateCounters
from rookery.runtime.endpoint.gates.tcp_gate import TcpGate
from rookery.runtime.endpoint.gates.udp_gate import UdpGate
from rookery.runtime.endpoint.link import AsyncLink
from rookery.runtime.loop import run
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.path import NetPath, Path
from rookery.wire.link.uri import LinkAddress
from rookery.wire.octets import Octets

CSIDS = (0x40, 0x3A, 0x2A)

_STREAM_SIZE = 200_000
_WORK_S = 20.0
_PROBES = 20
_CAPTURED_MAX = 300


@dataclass(frozen=True, slots=True)
class Condition:
    """How the victim is."""

    failures: tuple[str, ...]  # exceptions that reached the loop, and errors that were logged
    datagrams: GateCounters
    streams: GateCounters
    dropped: dict[str, int]
    links: int
    memory: int
    processor_s: float

    @property
    def processed(self) -> int:
        """Packets that the gates have made up their mind about."""
        gates = (self.datagrams, self.streams)
        return sum(gate.packets_in + gate.malformed for gate in gates)


@dataclass(frozen=True, slots=True)
class Life:
    """What the victim is told: what strangers may cost it, and the keys of whom it knows."""

    limits: AdmissionLimits
    friends: tuple[dict[int, bytes], ...]


@dataclass(frozen=True, slots=True)
class Friendship:
    """What the friend needs: its keys, and where the victim is."""

    pairs: dict[int, KeyPair]
    victim: JsonObject


@dataclass(frozen=True, slots=True)
class Health:
    """How the friend finds the link: whether it works, how slow it is, and what it has sent."""

    is_up: bool
    round_trip_s: float
    handshakes: tuple[bytes, ...]
    packets: tuple[bytes, ...]

    def __str__(self) -> str:
        return f"{'works' if self.is_up else 'BROKEN'} ({self.round_trip_s * 1e3:.1f} ms)"


class Complaints(logging.Handler):
    """Everything that should never happen."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())

    def failed(self, _: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        self.texts.append(f"{context.get('message')}: {context.get('exception')!r}")


def live(pipe: Connection, life: Life) -> None:
    """The victim's process: tells its address, then its condition whenever asked."""
    run(_live(pipe, life))


async def _live(pipe: Connection, life: Life) -> None:
    complaints = Complaints()
    logging.getLogger().addHandler(complaints)
    asyncio.get_running_loop().set_exception_handler(complaints.failed)
    async with AsyncEndpoint(Identity.generate(CSIDS, os.urandom), limits=life.limits) as endpoint:
        datagrams = await UdpGate.bind(endpoint)
        streams = TcpGate(endpoint)
        await streams.listen()
        endpoint.add_gate(datagrams)
        endpoint.add_gate(streams)
        serve_all(endpoint)
        for keys in life.friends:
            endpoint.link(LinkAddress(None, keys, ()))
        pipe.send(endpoint.address.json())
        while await ordered(pipe):
            links = sum(link.is_up for link in endpoint.links.values())
            pipe.send(
                Condition(
                    failures=tuple(complaints.texts[:10]),
                    datagrams=datagrams.counters,
                    streams=streams.counters,
                    dropped=dict(endpoint.dropped),
                    links=links,
                    memory=resident_bytes(),
                    processor_s=time.process_time(),
                )
            )


def befriend(pipe: Connection, friendship: Friendship) -> None:
    """The friend's process: links, then tells how the link is whenever asked."""
    run(_befriend(pipe, friendship))


class TappedGate(UdpGate):
    """Remembers what it has sent, for others to damage and replay."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.sent: list[bytes] = []

    def send(self, path: Path, data: Octets) -> None:
        if len(self.sent) < _CAPTURED_MAX:
            self.sent.append(bytes(data))
        super().send(path, data)


async def _befriend(pipe: Connection, friendship: Friendship) -> None:
    address = LinkAddress.of_json(friendship.victim)
    paths = tuple(p for p in address.paths if isinstance(p, NetPath) and p.kind == "udp4")
    async with AsyncEndpoint(Identity(friendship.pairs)) as endpoint:
        gate = await TappedGate.bind(endpoint)
        endpoint.add_gate(gate)
        link = endpoint.link(LinkAddress(address.hashname, address.keys, paths))
        await link.up()
        pipe.send(None)
        while await ordered(pipe):
            pipe.send(await _health(link, gate.sent))


async def _health(link: AsyncLink, sent: list[bytes]) -> Health:
    """Use the link in every way: round trips, and a stream that must arrive whole."""
    try:
        async with asyncio.timeout(_WORK_S):
            round_trip_s = await _round_trip(link)
            stream = open_stream(link)
            stream.write(bytes(_STREAM_SIZE))
            stream.write_eof()
            is_whole = int(await stream.read()) == _STREAM_SIZE
    except (TimeoutError, ValueError):
        is_whole, round_trip_s = False, _WORK_S
    handshakes = tuple(data for data in sent if data[1])
    packets = tuple(data for data in sent if not data[1])
    return Health(is_whole and link.is_up, round_trip_s, handshakes, packets)


async def _round_trip(link: AsyncLink) -> float:
    """The median of some, over a reliable channel, for datagrams may be lost in a flood."""
    channel, times = link.open("echo"), []
    for _ in range(_PROBES):
        began = time.perf_counter()
        await channel.send(None, b"still there?")
        assert await channel.receive() is not None
        times.append(time.perf_counter() - began)
    await channel.end()
    return sorted(times)[_PROBES // 2]
