"""Packets that arrive through one relay, against a relay of bare sockets that only copies.

    origin ──link──▶ relay ──link──▶ destination      three processes, sealed on each link

The payloads are not sealed end to end, and the destination drops them once they are counted: it
is the relay that is measured. Its own time for a packet is told as well, for with two cores
three processes are in each other's way.
"""

import asyncio
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection

from bench import relay_bare
from bench.ends import breathe
from bench.figure import Effort, Figure, Goal, middle
from bench.members import Member, Post, member, posts
from bench.process import answer, child, ordered
from rookery.mesh.routing.forwarding import Forwarder, RouteNodes
from rookery.runtime.loop import run
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.path import Arrival
from rookery.wire.mesh.forward import DatagramClass, Forward, ForwardKind
from rookery.wire.mesh.node_id import NODE_ID_SIZE, NodeId, node_id
from rookery.wire.octets import Octets, Parts

PAYLOAD_SIZE = 1100  # with a route, what a datagram path is sure to carry
LARGE_SIZE = 32 << 10
STEP_SIZE = 1200  # the goal's

_BURST = 32
_SETTLE_S = 0.2  # for the last packets to arrive
_POLL_S = 0.01
_STEPS = 100_000  # of the core, in a second


@dataclass(frozen=True, slots=True)
class Load:
    """The size of datagrams, and the transport that carries them."""

    carrier: str
    size: int

    @property
    def datagram_class(self) -> DatagramClass:
        return DatagramClass.DROP if self.carrier == "udp" else DatagramClass.FALLBACK


LOADS = (
    Load("udp", PAYLOAD_SIZE),
    Load("tcp", PAYLOAD_SIZE),
    Load("tcp", LARGE_SIZE),
)


@dataclass(frozen=True, slots=True)
class Job:
    """What the ends need to know; the destination is told only of the relay."""

    post: Post
    relay: JsonObject
    load: Load
    seconds: float
    destination: NodeId = b""


@dataclass(frozen=True, slots=True)
class Passed:
    """What a process saw of one turn."""

    packets: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.packets / max(self.seconds, 1e-9)


def measure(effort: Effort) -> list[Figure]:
    return [core(effort), *(figure(load, effort) for load in LOADS)]


def core(effort: Effort) -> Figure:
    """One relay step without links, sockets and seals."""
    here, nodes = node_id_of(1), tuple(node_id_of(number) for number in range(4))
    frame = Forward(nodes, bytes(STEP_SIZE))
    head, body = frame.head(), frame.body()
    steps = int(_STEPS * effort.seconds)

    def turn() -> float:
        received, began = Forwarder(here, _Anywhere()).received, time.perf_counter()
        for _ in range(steps):
            received(nodes[0], head, body, 0.0)
        return (time.perf_counter() - began) / steps * 1e6

    return Figure(
        what=f"a relay's step in the core, {STEP_SIZE} B",
        value=middle(turn() for _ in range(effort.runs)),
        unit="µs",
        goal=Goal(value_max=3.0),
    )


def figure(load: Load, effort: Effort) -> Figure:
    """One way through the relay beside its limit, turn by turn."""
    arrived, limits, relay_s = [], [], []
    bare = relay_bare.datagrams_per_s if load.carrier == "udp" else relay_bare.packets_per_s
    carriers = ("tcp", "udp") if load.carrier == "udp" else ("tcp",)
    made = posts({"origin": (), "relay": ("relay",), "destination": ()}, carriers)
    with child(relay, made["relay"]) as relaying:
        address = answer(relaying, dict)
        there = Job(made["destination"], address, load, effort.seconds)
        here = Job(
            made["origin"], address, load, effort.seconds, node_id(made["destination"].hashname)
        )
        with child(destination, there) as arriving, child(origin, here) as leaving:
            assert answer(arriving, str) == "reached"
            for _ in range(effort.runs):
                for pipe in (relaying, arriving, leaving):
                    pipe.send(None)
                sent = answer(leaving, int)
                relaying.send(None)
                arriving.send(None)
                relay_s.append(1 / answer(relaying, Passed).rate)
                arrived.append(answer(arriving, Passed))
                limits.append(bare(load.size, effort.seconds))
    rate = middle(each.rate for each in arrived)
    return Figure(
        what=f"packets of {load.size} B through one relay, {load.carrier.upper()}",
        value=rate,
        unit="arrived/s",
        limit=middle(limits),
        against="a bare relay",
        remark=f"{rate * load.size / 1e6:.0f} MB/s, {middle(relay_s) * 1e6:.0f} µs of the relay "
        f"each, {arrived[-1].packets / max(sent, 1):.0%} arrived",
    )


def relay(pipe: Connection, post: Post) -> None:
    async def serve() -> None:
        async with member(post) as here:
            pipe.send(here.endpoint.address.json())
            forwarder = here.node.data_plane.forwarder
            while await ordered(pipe):
                packets, began_s = forwarder.relayed, time.process_time()
                await ordered(pipe)
                pipe.send(Passed(forwarder.relayed - packets, time.process_time() - began_s))

    run(serve())


def destination(pipe: Connection, job: Job) -> None:
    async def count() -> None:
        async with member(job.post, job.relay) as here:
            await _reached(here)
            pipe.send("reached")
            while await ordered(pipe):
                async with asyncio.TaskGroup() as tasks:
                    counting = tasks.create_task(_count(here))
                    await ordered(pipe)
                    counting.cancel()
                pipe.send(counting.result())

    run(count())


async def _reached(here: Member) -> None:
    while True:
        await asyncio.sleep(_POLL_S)
        if _delivered(here):
            return


async def _count(here: Member) -> Passed:
    """What arrives until it is cancelled, from the first packet to the last."""
    now = time.perf_counter
    before = seen = _delivered(here)
    began = ended = now()
    try:
        while True:
            await asyncio.sleep(_POLL_S)
            if (delivered := _delivered(here)) > seen:
                ended = now()
                began = began if seen > before else ended - _POLL_S
                seen = delivered
    except asyncio.CancelledError:
        return Passed(seen - before, ended - began)


def _delivered(here: Member) -> int:
    return here.node.data_plane.forwarder.fates.get("delivered", 0)


def origin(pipe: Connection, job: Job) -> None:
    async def pour() -> None:
        async with member(job.post, job.relay) as here:
            async with asyncio.TaskGroup() as tasks:
                knocking = tasks.create_task(_knock(here, job))
                is_wanted = await ordered(pipe)
                knocking.cancel()
            while is_wanted:
                sent = await _pour(here, job)
                await asyncio.sleep(_SETTLE_S)
                pipe.send(sent)
                is_wanted = await ordered(pipe)

    run(pour())


async def _knock(here: Member, job: Job) -> None:
    """Send a packet now and then, until one gets there and the parent says so."""
    payload = bytes(job.load.size)
    while True:
        here.node.data_plane.start(
            job.destination, payload, here.endpoint.now(), job.load.datagram_class
        )
        here.endpoint.stir()
        await asyncio.sleep(_POLL_S)


async def _pour(here: Member, job: Job) -> int:
    """Send as fast as can be for so long; how many left."""
    start, now, payload = here.node.data_plane.start, time.perf_counter, bytes(job.load.size)
    sent, until = 0, now() + job.seconds
    while now() < until:
        moment = here.endpoint.now()
        for _ in range(_BURST):
            sent += start(job.destination, payload, moment, job.load.datagram_class)
        here.endpoint.stir()
        await breathe()
    return sent


def node_id_of(number: int) -> NodeId:
    return number.to_bytes(NODE_ID_SIZE, "big")


class _Anywhere:
    """A site that takes everything."""

    def usable(self, neighbour: NodeId) -> bool:
        return True

    def sound(self, neighbour: NodeId) -> bool:
        return True

    def send(
        self, neighbour: NodeId, head: bytes, parts: Parts, datagram_class: DatagramClass
    ) -> bool:
        return True

    def detour(self, destination: NodeId, avoid: frozenset[NodeId]) -> RouteNodes | None:
        return None

    def deliver(self, kind: ForwardKind, arrival: Arrival, payload: Octets, now: float) -> None:
        pass

    def is_busy(self, neighbour: NodeId) -> bool:
        return False

    def may_relay(self, previous: NodeId) -> bool:
        return True
