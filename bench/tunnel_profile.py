"""Where the time of a tunnel goes: the nodes with the listener and with the exit, sampled."""

import asyncio
import tempfile
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from bench.process import answer, child, ordered
from bench.raw import LOOPBACK
from bench.sampler import Sampler, Samples
from bench.tunnel import Course, target
from rookery.identity.identity import Identity
from rookery.link.channels.sock import SockAddress
from rookery.mesh.proxy.rules import ProxyRules
from rookery.runtime.endpoint import keystore
from rookery.runtime.loop import run
from rookery.runtime.node.node import mesh_node
from rookery.runtime.proxy.forward import tcp_forward
from rookery.runtime.realm.store import RealmStore
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.uri import LinkAddress
from tests.runtime.realms import realm

_POLL_S = 0.02
_WARM_UP_S = 1.0


@dataclass(frozen=True, slots=True)
class Job:
    """What a node needs to know."""

    keys: Path
    realm: Path
    port: int  # of the target
    exit_hashname: str = ""
    exit_link: JsonObject | None = None


def profile(seconds: float) -> tuple[float, Samples, Samples]:
    """MB/s through one hop, and what was sampled of the listener and of the exit."""
    with tempfile.TemporaryDirectory() as folder, child(target, None) as aim:
        listener_home, exit_home = realm(Path(folder), "listener", "exit", exits=["exit"])
        port = answer(aim, int)
        with child(_exit, Job(exit_home.keys, exit_home.realm, port)) as far:
            home, link = listener_home, answer(far, dict)
            job = Job(home.keys, home.realm, port, exit_home.hashname, link)
            with child(_listener, job) as near:
                course = Course(answer(near, int))
                course.transfer(_WARM_UP_S)
                for pipe in (near, far):
                    pipe.send(None)
                course.transfer(seconds)
                for pipe in (near, far):
                    pipe.send(None)
                return course.rates[-1] / 1e6, answer(near, Samples), answer(far, Samples)


def _own(job: Job) -> tuple[Identity, RealmStore]:
    return keystore.load(job.keys), RealmStore(job.realm)


def _exit(pipe: Connection, job: Job) -> None:
    async def serve() -> None:
        rules = ProxyRules.parse([f"tcp {LOOPBACK}:{job.port}"])
        async with mesh_node(*_own(job), rules=rules) as node:
            pipe.send(node.endpoint.address.json())
            await _sampled(pipe)

    run(serve())


def _listener(pipe: Connection, job: Job) -> None:
    async def serve() -> None:
        assert job.exit_link is not None
        peers = [LinkAddress.of_json(job.exit_link)]
        async with mesh_node(*_own(job), peers=peers) as node:
            while node.core.membership.by_hashname(job.exit_hashname) is None:  # noqa: ASYNC110
                await asyncio.sleep(_POLL_S)
            aim = SockAddress(LOOPBACK, job.port)
            async with await tcp_forward(node.proxy.connector, aim, job.exit_hashname) as listener:
                pipe.send(listener.address.port)
                await _sampled(pipe)

    run(serve())


async def _sampled(pipe: Connection) -> None:
    """From the parent's next word to the one after it."""
    if await ordered(pipe):
        with Sampler() as samples:
            await ordered(pipe)
        pipe.send(samples)
