"""Packets a second that arrive through an unreliable channel, against bare datagrams."""

import time
from multiprocessing.connection import Connection

from bench import raw
from bench.ends import VARIANTS, End, LinkVariant, breathe
from bench.figure import Effort, Figure, middle
from bench.turns import Job, Turn, take_turns, turns
from rookery.runtime.endpoint.link import AsyncLink

BODY_SIZE = 128
_BURST = 32


def measure(effort: Effort) -> list[Figure]:
    return [figure(variant, effort) for variant in VARIANTS]


def client(pipe: Connection, job: Job) -> None:
    take_turns(pipe, job, pour)


async def pour(here: End, link: AsyncLink, seconds: float) -> Turn:
    """Send as fast as can be for so long; the peer says what arrived, and how fast."""
    channel = link.open("packets", reliable=False)
    body, sent, began = bytes(BODY_SIZE), 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        for _ in range(_BURST):
            await channel.send(None, body)
        sent += _BURST
        await breathe()
    elapsed = time.perf_counter() - began
    arrived, arrival_s = await _arrived(link)
    channel.fail("measured")
    remark = f"{sent / elapsed:,.0f} sent"
    return Turn(arrived / arrival_s, here.packet_size, remark)


async def _arrived(link: AsyncLink) -> tuple[int, float]:
    told = await link.open("count").receive()
    assert told is not None
    packets, seconds = told.head["packets"], told.head["seconds"]
    assert isinstance(packets, int)
    assert isinstance(seconds, float)
    return packets, seconds


def figure(variant: LinkVariant, effort: Effort) -> Figure:
    """The packets of one way beside their limit, turn by turn."""
    done, limits = [], []
    with turns(variant, client, effort.seconds) as turn:
        for _ in range(effort.runs):
            done.append(turn())
            limits.append(raw.datagrams_per_s(int(done[-1].packet_size), effort.seconds))
    return Figure(
        what=f"packets of {BODY_SIZE} B {variant}",
        value=middle(turn.rate for turn in done),
        unit="arrived/s",
        limit=middle(limits),
        against="bare UDP, same datagrams",
        remark=done[-1].remark,
    )
