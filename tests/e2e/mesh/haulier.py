"""A node that hauls bytes through tunnels when it is told to, and tells what came of it.

stdin   {"do":"haul","size":200000000,"seed":1,"mode":"auto"}
        {"do":"chat","count":500,"size":200,"interval_s":0.01,"mode":"redundant"}
        {"do":"ways"}
stdout  its link, then in answer to these
        {"hauled":{"size":…,"sent":SHA-256 here,"arrived":SHA-256 there,"seconds":…}}
        {"chatted":[seconds of each round trip]}
        {"ways":[…],"explained":[…]}
        and of what others haul here
        {"read":bytes,"at":…}  {"taken":{"size":…,"sha256":…,"silences":[[from,to],…]}}

Times are of the system's monotonic clock, which all processes share.
"""

import asyncio
import random
import sys
import time
from hashlib import sha256
from pathlib import Path

import msgspec

from rookery.errors import RookeryError
from rookery.mesh.tunnel.paths.scheduler import Mode
from rookery.runtime.endpoint import keystore
from rookery.runtime.loop import run
from rookery.runtime.node.node import MeshNode, mesh_node
from rookery.runtime.realm.store import RealmStore
from rookery.runtime.tunnels.stream import TunnelStream
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.uri import LinkAddress

PIECE = 1 << 16
STEP = 1 << 20  # so often progress is told of
POLL_S = 0.05
SILENCE_S = 0.02  # shorter ones are nobody's concern


class Job(msgspec.Struct):
    """What to do, and with how much."""

    do: str
    size: int = 0
    seed: int = 0
    count: int = 0
    interval_s: float = 0.0
    mode: Mode = Mode.AUTO


class Haulier:
    """One node and its jobs."""

    def __init__(self, node: MeshNode, other: str) -> None:
        self._node = node
        self._other = other
        node.tunnels.serve("sink", taken)
        node.tunnels.serve("echo", self._echo)

    async def work(self) -> None:
        await self._meet()
        async with asyncio.TaskGroup() as jobs:
            while line := await asyncio.to_thread(sys.stdin.readline):
                jobs.create_task(self._do(msgspec.json.decode(line, type=Job)))

    async def _meet(self) -> None:
        """Nothing can be opened with somebody who is not known for a member."""
        while True:
            if self._node.core.membership.by_hashname(self._other) is not None:
                return
            await asyncio.sleep(POLL_S)

    async def _do(self, job: Job) -> None:
        try:
            if job.do == "haul":
                await self._haul(job)
            elif job.do == "chat":
                await self._chat(job)
            else:
                self._tell_ways()
        except RookeryError as error:
            say({"failed": str(error)})

    async def _haul(self, job: Job) -> None:
        stream = await self._node.tunnels.open(self._other, "sink", mode=job.mode)
        source, digest, left = random.Random(job.seed), sha256(), job.size
        begun_s = time.monotonic()
        while left:
            piece = source.randbytes(min(PIECE, left))
            left -= len(piece)
            digest.update(piece)
            await stream.write(piece)
        await stream.finish()
        arrived = await stream.read()
        hauled = {
            "size": job.size,
            "sent": digest.hexdigest(),
            "arrived": arrived.decode(),
            "seconds": time.monotonic() - begun_s,
        }
        say({"hauled": hauled})

    async def _chat(self, job: Job) -> None:
        """Small messages, each when it is time for it; what comes back tells when it left."""
        meta = {"mode": job.mode.value}
        stream = await self._node.tunnels.open(self._other, "echo", meta, mode=job.mode)
        trips: list[float] = []
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_listen(stream, job, trips))
            due_s = time.monotonic()
            for _ in range(job.count):
                due_s += job.interval_s
                await asyncio.sleep(max(0.0, due_s - time.monotonic()))
                await stream.write(repr(time.monotonic()).encode().ljust(job.size))
        await stream.finish()
        say({"chatted": trips})

    async def _echo(self, stream: TunnelStream) -> None:
        """As the other side wants to be answered, as far as ways go."""
        self._node.tunnels.set_mode(stream.peer, Mode(stream.meta["mode"]))
        while data := await stream.read():
            await stream.write(data)

    def _tell_ways(self) -> None:
        explanations = self._node.tunnels.explain(self._other)
        ways = [msgspec.to_builtins(path) for each in explanations for path in each.paths]
        say({"ways": ways, "explained": [line for each in explanations for line in each.lines()]})


async def _listen(stream: TunnelStream, job: Job, trips: list[float]) -> None:
    held = b""
    while len(trips) < job.count:
        held += await stream.read()
        while len(held) >= job.size:
            message, held = held[: job.size], held[job.size :]
            trips.append(time.monotonic() - float(message))


async def taken(stream: TunnelStream) -> None:
    """Read to the end, hash, and note when nothing came."""
    digest, size, told, silences = sha256(), 0, 0, []
    last_s = begun_s = time.monotonic()
    while data := await stream.read():
        now_s = time.monotonic()
        if now_s - last_s > SILENCE_S:
            silences.append([last_s, now_s])
        last_s = now_s
        digest.update(data)
        size += len(data)
        if size >= told + STEP:
            told = size
            say({"read": size, "at": now_s})
    seconds = time.monotonic() - begun_s
    await stream.write(digest.hexdigest().encode())
    sha = digest.hexdigest()
    say({"taken": {"size": size, "sha256": sha, "silences": silences, "seconds": seconds}})


def say(what: JsonObject) -> None:
    print(msgspec.json.encode(what).decode(), flush=True)


async def serve(keys: Path, realm: Path, listen: str, other: str, peers: list[LinkAddress]) -> None:
    opened = mesh_node(keystore.load(keys), RealmStore(realm), listen=listen, peers=peers)
    async with opened as node:
        say(node.endpoint.address.json())
        await Haulier(node, other).work()


def main() -> None:
    keys, realm, listen, other, *peers = sys.argv[1:]
    links = [LinkAddress.parse(Path(peer).read_text()) for peer in peers]
    run(serve(Path(keys), Path(realm), listen, other, links))


if __name__ == "__main__":
    main()
