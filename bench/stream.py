"""Bytes a second through one stream, against the bare socket."""

import os
import time
from multiprocessing.connection import Connection

from bench import raw
from bench.ends import VARIANTS, End, LinkVariant
from bench.figure import Effort, Figure, middle
from bench.turns import Job, Turn, take_turns, turns
from rookery.runtime.endpoint.channels.stream import open_stream
from rookery.runtime.endpoint.link import AsyncLink

_WRITE_SIZE = 1 << 16
_MEGABYTE = 1e6
_AGAINST = {"udp": "bare UDP, same datagrams", "tcp": "bare TCP, 64 KB writes"}


def measure(effort: Effort) -> list[Figure]:
    return [figure(variant, effort) for variant in VARIANTS]


def client(pipe: Connection, job: Job) -> None:
    take_turns(pipe, job, transfer)


async def transfer(here: End, link: AsyncLink, seconds: float) -> Turn:
    """Write for so long, then wait until the peer has it all."""
    data, size = os.urandom(_WRITE_SIZE), 0
    stream = open_stream(link)
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        stream.write(data)
        size += len(data)
        await stream.drain()
    stream.write_eof()
    assert int(await stream.read()) == size
    rate = size / (time.perf_counter() - began)
    await stream.wait_closed()
    return Turn(rate / _MEGABYTE, here.packet_size)


def figure(variant: LinkVariant, effort: Effort) -> Figure:
    """The stream of one way beside its limit, turn by turn."""
    rates, limits = [], []
    with turns(variant, client, effort.seconds) as turn:
        for _ in range(effort.runs):
            done = turn()
            rates.append(done.rate)
            if variant.carrier == "udp":
                size = int(done.packet_size)
                limits.append(raw.datagrams_per_s(size, effort.seconds) * size / _MEGABYTE)
            else:
                limits.append(raw.stream_bytes_per_s(effort.seconds) / _MEGABYTE)
    return Figure(
        what=f"stream {variant}",
        value=middle(rates),
        unit="MB/s",
        limit=middle(limits),
        against="bare UDP, same datagrams"
        if variant.carrier == "udp"
        else "bare TCP, 64 KB writes",
    )
