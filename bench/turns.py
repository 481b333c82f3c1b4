"""Turns: a server and a client process, and one measurement each time the parent asks.

    parent ──go──▶ client ◀──link──▶ server
           ◀─rate─

Between two turns the parent measures the limit, so both see the same weather.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

from bench.ends import End, LinkVariant, end, serve_all
from bench.process import answer, child, ordered
from rookery.runtime.endpoint.link import AsyncLink
from rookery.runtime.loop import run
from rookery.wire.link.lob import JsonObject


@dataclass(frozen=True, slots=True)
class Job:
    """What a client process needs to know."""

    variant: LinkVariant
    address: JsonObject
    seconds: float


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn measured."""

    rate: float
    packet_size: float
    remark: str = ""


Client = Callable[[Connection, Job], None]
Measure = Callable[[End, AsyncLink, float], Awaitable[Turn]]


@contextmanager
def turns(variant: LinkVariant, client: Client, seconds: float) -> Iterator[Callable[[], Turn]]:
    """Both processes, linked; call the result for one turn."""
    with child(serve, variant) as server:
        job = Job(variant, answer(server, dict), seconds)
        with child(client, job) as pipe:

            def turn() -> Turn:
                pipe.send(None)
                return answer(pipe, Turn)

            yield turn


def serve(pipe: Connection, variant: LinkVariant) -> None:
    """The server process."""
    run(_serve(pipe, variant))


def take_turns(pipe: Connection, job: Job, measure: Measure) -> None:
    """The client process."""
    run(_take_turns(pipe, job, measure))


async def _serve(pipe: Connection, variant: LinkVariant) -> None:
    async with end(variant) as here:
        serve_all(here.endpoint)
        pipe.send(here.endpoint.address.json())
        await ordered(pipe)


async def _take_turns(pipe: Connection, job: Job, measure: Measure) -> None:
    async with end(job.variant) as here:
        link = await here.endpoint.link(job.address).up()
        while await ordered(pipe):
            pipe.send(await measure(here, link, job.seconds))
