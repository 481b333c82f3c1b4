"""A mesh node with many neighbours that do nothing but exist: its memory, and what it costs.

One process is the node. Another one is all its neighbours, who know nobody but the node; what they
cost is not counted.
"""

import asyncio
import time
from contextlib import AsyncExitStack
from multiprocessing.connection import Connection

from bench.figure import Effort, Figure, Goal
from bench.members import Member, Post, member, posts
from bench.process import answer, child, ordered, resident_bytes
from rookery.mesh.node import Node
from rookery.mesh.quality.liveness import PathCondition
from rookery.runtime.loop import run
from rookery.wire.link.lob import JsonObject

LINKS = 256
LINKS_QUICK = 8

_POLL_S = 0.1
_WATCHED_S = 20.0  # more than one beat of every link
_SETTLE_S = 15.0  # for the beats of the beginning to become rare
_START_S = 240.0  # they all tell each other of themselves
_DIALS_AT_ONCE = 16

Neighbours = tuple[tuple[Post, ...], JsonObject]


def measure(effort: Effort) -> list[Figure]:
    is_quick = effort.is_quick
    count = LINKS_QUICK if is_quick else LINKS
    watched_s = 1.0 if is_quick else _WATCHED_S
    names = {f"neighbour {number}": () for number in range(count)}
    made = posts({"node": ("relay",), **names}, ("tcp", "udp"))
    with child(_node, (made["node"], count, watched_s)) as node:
        address = answer(node, dict)
        others = tuple(made[name] for name in names)
        with child(_neighbours, (others, address)) as pipe:
            assert answer(pipe, int, _START_S) == count
            alone, together, busy_s, sent = answer(node, tuple, _START_S + watched_s + _SETTLE_S)
    return [
        Figure(
            what=f"mesh node with {count} idle links",
            value=together / 1e6,
            unit="MB",
            goal=Goal(value_max=45.0),
            remark=f"{alone / 1e6:.1f} MB without links, {(together - alone) / count / 1e3:.1f} KB"
            " each",
        ),
        Figure(
            what=f"CPU of a mesh node with {count} idle links",
            value=busy_s / watched_s * 100,
            unit="% of a core",
            goal=Goal(value_max=5.0),
        ),
        Figure(
            what=f"sent by a mesh node with {count} idle links",
            value=sent / watched_s / 1e3,
            unit="kB/s",
            goal=Goal(value_max=20.0),
            remark="all links together",
        ),
    ]


def _node(pipe: Connection, job: tuple[Post, int, float]) -> None:
    async def idle() -> None:
        post, count, watched_s = job
        async with member(post) as here:
            alone = resident_bytes()
            pipe.send(here.endpoint.address.json())
            await _neighbours_up(here.node, count)
            await asyncio.sleep(_SETTLE_S if watched_s > 1.0 else 0.0)
            began_s, sent = time.process_time(), _sent(here)
            await asyncio.sleep(watched_s)
            busy_s = time.process_time() - began_s
            pipe.send((alone, resident_bytes(), busy_s, _sent(here) - sent))
            await ordered(pipe)

    run(idle())


def _neighbours(pipe: Connection, job: Neighbours) -> None:
    async def be() -> None:
        others, address = job
        async with AsyncExitStack() as stack:
            for at in range(0, len(others), _DIALS_AT_ONCE):
                batch = [
                    await stack.enter_async_context(member(post, address))
                    for post in others[at : at + _DIALS_AT_ONCE]
                ]
                for one in batch:
                    await _neighbours_up(one.node, 1)
            pipe.send(len(others))
            await ordered(pipe)

    run(be())


async def _neighbours_up(node: Node, count: int) -> None:
    async with asyncio.timeout(_START_S):
        while True:
            await asyncio.sleep(_POLL_S)
            if sum(each.state is PathCondition.UP for each in node.neighbours.values()) >= count:
                return


def _sent(here: Member) -> int:
    return sum(link.out_bytes for link in here.endpoint.core.links.values())
