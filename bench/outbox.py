"""Requests a second through one outbox session, beside a plain queue and a socket.

thread ─add_packet─▶ outbox ─session over TCP─▶ outbox      two processes, as with the limit
thread ─put───────▶ queue ─▶ sendall ──TCP──▶ recv          which promises nothing
"""

import asyncio
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from bench.figure import Effort, Figure, Goal, middle
from bench.outbox_bare import requests_per_s
from bench.process import answer, child, ordered, resident_bytes
from rookery.errors import CongestionError
from rookery.outbox.intake import IncomingRequest
from rookery.outbox.limits import OutboxLimits
from rookery.outbox.request import OutboxRequest
from rookery.runtime.loop import run
from rookery.runtime.outbox.ledger import SqliteLedger
from rookery.runtime.outbox.outbox import AsyncOutbox
from rookery.runtime.outbox.socket_stream import OutboxSocketStream
from rookery.wire.outbox.frames import Qos
from tests.outbox.ordeal import Ordeal

PAYLOAD_SIZE = 128
_ALICE, _BOB = "a" * 52, "b" * 51 + "a"
_LIMITS = OutboxLimits(peer_requests_max=20_000)
_ROOMY = OutboxLimits(peer_requests_max=10**7, peer_bytes_max=10**11, pool_bytes_max=10**11)
_LOSSES = 1000


def measure(effort: Effort) -> list[Figure]:
    return [
        throughput(effort, is_durable=False),
        throughput(effort, is_durable=True),
        adding(effort),
        memory(effort.links * 10),
        ordeal(effort.links * 100),
    ]


def throughput(effort: Effort, *, is_durable: bool) -> Figure:
    """Acknowledged ones, added by another thread than the loop's."""
    rates, limits = [], []
    with TemporaryDirectory() as folder:
        path = Path(folder) if is_durable else None
        with child(_receive, path) as receiver:
            port = answer(receiver, int)
            for number in range(effort.runs):
                name = None if path is None else path / f"alice-{number}"
                rates.append(run(_send(port, effort.seconds, name)))
                limits.append(requests_per_s(PAYLOAD_SIZE, effort.seconds))
    kind = "on disk" if is_durable else "in memory"
    return Figure(
        what=f"requests of {PAYLOAD_SIZE} B, QoS 2, {kind}",
        value=middle(rates),
        unit="acknowledged/s",
        limit=middle(limits),
        against="SimpleQueue and a socket, no promises",
        goal=Goal(ratio_min=0.5),
    )


def adding(effort: Effort) -> Figure:
    """What it costs a thread to make a request, add it and let go of it."""
    costs, limits = [], []
    for _ in range(effort.runs):
        costs.append(run(_adding(effort.links)))
        queue: SimpleQueue[bytes] = SimpleQueue()
        began = time.perf_counter()
        for _ in range(effort.links):
            queue.put(bytes(PAYLOAD_SIZE))
        limits.append((time.perf_counter() - began) / effort.links * 1e6)
    return Figure(
        what="create, add_packet and release",
        value=middle(costs),
        unit="µs",
        limit=middle(limits),
        against="SimpleQueue.put",
        remark="from a thread of its own",
    )


async def _adding(count: int) -> float:
    outbox = AsyncOutbox(_BOB, limits=_ROOMY)
    peer = outbox.add_peer(_ALICE)
    took: list[float] = []

    def add() -> None:
        began = time.perf_counter()
        for _ in range(count):
            request = outbox.request(bytes(PAYLOAD_SIZE))
            peer.add_packet(request)
            request.release()
        took.append((time.perf_counter() - began) / count * 1e6)

    thread = threading.Thread(target=add)
    thread.start()
    await asyncio.to_thread(thread.join)
    await outbox.close()
    return took[0]


def memory(count: int) -> Figure:
    """What the process grows by, and no more than the pool counts."""
    with child(_hold, count) as pipe:
        grown = answer(pipe, float)
        counted = answer(pipe, float)
    return Figure(
        what=f"{count:,} queued requests of {PAYLOAD_SIZE} B, each",
        value=grown,
        unit="bytes",
        limit=counted,
        against="as the pool counts it",
    )


def _hold(pipe: Connection, count: int) -> None:
    run(_holding(pipe, count))


async def _holding(pipe: Connection, count: int) -> None:
    outbox = AsyncOutbox(_BOB, limits=_ROOMY)
    peer = outbox.add_peer(_ALICE)
    before = resident_bytes()
    for number in range(count):
        request = outbox.request(number.to_bytes(PAYLOAD_SIZE, "big"))
        peer.add_packet(request)
        request.release()
    await asyncio.sleep(0)
    pipe.send((resident_bytes() - before) / count)
    pipe.send(outbox.core.pool.bytes_used / count)


def ordeal(count: int) -> Figure:
    """In virtual time and one thread: both ends, every byte, all checks."""
    trial = Ordeal(count, min(_LOSSES, count // 50))
    began = time.process_time()
    trial.run()
    took = time.process_time() - began
    trial.check(count)
    return Figure(
        what=f"{count:,} requests through {min(_LOSSES, count // 50):,} lost sessions",
        value=count / took,
        unit="requests/s",
        remark=f"0 lost, 0 out of order, 0 late; {len(trial.won):,} cancelled",
    )


async def _send(port: int, seconds: float, path: Path | None) -> float:
    async def dial(_: str) -> OutboxSocketStream:
        return await OutboxSocketStream.connect("127.0.0.1", port)

    ledger = None if path is None else SqliteLedger(path)
    outbox = AsyncOutbox(_ALICE, dial=dial, limits=_LIMITS, ledger=ledger)
    peer = outbox.add_peer(_BOB)
    await outbox.send(_BOB, b"are you there")
    ended = outbox.core.totals.total()
    until = time.perf_counter() + seconds

    def add() -> None:
        payload = bytes(PAYLOAD_SIZE)
        while time.perf_counter() < until:
            for _ in range(100):
                request = OutboxRequest.create(outbox.core.pool, payload, qos=Qos.ONCE)
                with suppress(CongestionError):
                    peer.add_packet(request)
                request.release()
            while peer.count > _LIMITS.peer_requests_max // 2:
                time.sleep(0.0005)

    thread = threading.Thread(target=add)
    began = time.perf_counter()
    thread.start()
    await asyncio.to_thread(thread.join)
    while peer.count:  # noqa: ASYNC110 - what is under way counts, too
        await asyncio.sleep(0.001)
    rate = (outbox.core.totals.total() - ended) / (time.perf_counter() - began)
    await outbox.close()
    return rate


def _receive(pipe: Connection, path: Path | None) -> None:
    run(_receiving(pipe, path))


async def _receiving(pipe: Connection, path: Path | None) -> None:
    async def handle(_: IncomingRequest) -> bytes | None:
        return None

    if path is None:
        outbox = AsyncOutbox(_BOB, handler=handle)
    else:
        ledger = SqliteLedger(path / "bob")
        outbox = AsyncOutbox(_BOB, ledger=ledger, transact=lambda arrival, connection: None)
    outbox.add_peer(_ALICE)
    server = await asyncio.start_server(
        lambda reader, writer: outbox.serve(OutboxSocketStream(reader, writer)), "127.0.0.1", 0
    )
    pipe.send(server.sockets[0].getsockname()[1])
    while await ordered(pipe):
        pass
    server.close()
    await outbox.close()
