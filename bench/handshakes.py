"""New links a second, against the bare cryptography of a handshake."""

import asyncio
import os
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from multiprocessing.connection import Connection

from bench.ends import LinkVariant, end
from bench.figure import Effort, Figure, middle
from bench.process import answer, child
from bench.turns import Job, serve
from rookery.identity.identity import Identity
from rookery.link.session.exchange import Exchange
from rookery.link.session.handshake import Handshake
from rookery.runtime.loop import run
from rookery.wire.link.lob import Packet

_CSIDS = (0x40, 0x3A, 0x2A)
_SLOW_KEYS = 0x2A  # RSA keys take long to make, so there are fewer


def measure(effort: Effort) -> list[Figure]:
    return [figure(LinkVariant(csid, "udp"), effort) for csid in _CSIDS]


def client(pipe: Connection, job: Job) -> None:
    """`job.seconds` is here how many links."""
    run(_client(pipe, job))


async def _client(pipe: Connection, job: Job) -> None:
    """Make that many identities, then link them all at once with the server."""
    count = int(job.seconds)
    identities = [Identity.generate([job.variant.csid], os.urandom) for _ in range(count)]
    async with AsyncExitStack() as stack:
        ends = [
            await stack.enter_async_context(end(job.variant, identity)) for identity in identities
        ]
        began = time.perf_counter()
        links = [here.endpoint.link(job.address) for here in ends]
        await asyncio.gather(*(link.up() for link in links))
        pipe.send(count / (time.perf_counter() - began))


def figure(variant: LinkVariant, effort: Effort) -> Figure:
    """The handshakes of one cipher set beside their limit, turn by turn."""
    count = max(effort.identities // (10 if variant.csid == _SLOW_KEYS else 1), 2)
    rates, limits = [], []
    for _ in range(effort.runs):
        with child(serve, variant) as server:
            job = Job(variant, answer(server, dict), count)
            with child(client, job) as pipe:
                rates.append(answer(pipe, float))
        limits.append(1 / bare_handshake_s(variant.csid, count))
    return Figure(
        what=f"handshakes {variant}",
        value=middle(rates),
        unit="links/s",
        limit=middle(limits),
        against="bare cryptography of one side",
        remark=f"{count} identities dial one at once",
    )


def bare_handshake_s(csid: int, count: int) -> float:
    """Seconds that one side of a handshake computes: open, prove, agree and answer."""
    server = Identity.generate([csid], os.urandom)
    dialling = [Identity.generate([csid], os.urandom) for _ in range(count)]
    received = [(peer, _handshake(peer, server, csid)) for peer in dialling]
    return _answer_all(server, csid, received) / count


def _answer_all(server: Identity, csid: int, received: Sequence[tuple[Identity, bytes]]) -> float:
    local, began = server.local[csid], time.perf_counter()
    for peer, data in received:
        opened = local.open(Packet.parse(data).body)
        exchange = Exchange(local, {}, peer.keys[csid], at=1, random=os.urandom)
        exchange.receive(opened, Handshake.parse_inner(csid, opened.inner))
        exchange.handshake()
    return time.perf_counter() - began


def _handshake(sender: Identity, recipient: Identity, csid: int) -> bytes:
    local, peer_key = sender.local[csid], recipient.keys[csid]
    return Exchange(local, {}, peer_key, at=1000, random=os.urandom).handshake()
