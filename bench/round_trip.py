"""How long 64 bytes take to the peer's handler and back, against the bare socket."""

import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from statistics import quantiles

from bench import raw
from bench.ends import VARIANTS, End, LinkVariant, end
from bench.figure import Effort, Figure
from bench.process import answer, child
from bench.turns import Job, serve
from rookery.runtime.endpoint.link import AsyncLink
from rookery.runtime.loop import run

BODY_SIZE = 64
_PER_SECOND = 2000  # round trips of one run, for each second a rate would be measured
_WARM_UP = 100


def measure(effort: Effort) -> list[Figure]:
    count = max(int(effort.seconds * effort.runs * _PER_SECOND), _WARM_UP)
    return [figure for variant in VARIANTS for figure in figures(variant, count)]


def client(pipe: Connection, job: Job) -> None:
    """`job.seconds` is here how often."""
    run(_client(pipe, job))


async def _client(pipe: Connection, job: Job) -> None:
    async with end(job.variant) as here:
        link = await here.endpoint.link(job.address).up()
        pipe.send(await _round_trips(here, link, int(job.seconds)))


async def _round_trips(here: End, link: AsyncLink, count: int) -> list[float]:
    channel, body, times = link.open("echo", reliable=False), bytes(BODY_SIZE), []
    for _ in range(count):
        began = time.perf_counter()
        await channel.send(None, body)
        assert await channel.receive() is not None
        times.append(time.perf_counter() - began)
    return times


def figures(variant: LinkVariant, count: int) -> list[Figure]:
    with child(serve, variant) as server:
        job = Job(variant, answer(server, dict), _WARM_UP + count)
        with child(client, job) as pipe:
            times = answer(pipe, list)
    bare = raw.datagram_round_trips if variant.carrier == "udp" else raw.stream_round_trips
    limits = bare(BODY_SIZE, _WARM_UP + count)
    return [
        Figure(
            what=f"round trip of {BODY_SIZE} B {variant}, p{percent}",
            value=_percentile(times, percent),
            unit="µs",
            limit=_percentile(limits, percent),
            against=f"bare {variant.carrier.upper()}",
        )
        for percent in (50, 99)
    ]


def _percentile(times: Sequence[float], percent: int) -> float:
    return quantiles(times[_WARM_UP:], n=100)[percent - 1] * 1e6
