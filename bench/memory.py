"""Memory: of a link that does nothing, and of a process that does nothing.

The links are real: one process accepts as many identities as it is told over UDP, each from a port
of its own, and tells how much it has grown. The dialling side is not counted.
"""

import os
import subprocess
import sys
import time
from multiprocessing.connection import Connection

from bench.dialler import Dialler
from bench.ends import LinkVariant, end
from bench.figure import Effort, Figure, Goal, middle
from bench.process import ANSWER_S, answer, child, ordered, resident_bytes
from rookery.identity.identity import Identity
from rookery.runtime.loop import run
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.uri import LinkAddress

_VARIANT = LinkVariant(0x40, "udp")
_BATCH = 50
_KILOBYTE, _MEGABYTE = 1e3, 1e6

_IDLE_PROCESS = """
import asyncio, rookery.runtime.endpoint.create
from bench.process import resident_bytes
from rookery.runtime.loop import run

async def main():
    async with rookery.runtime.endpoint.create.create():
        await asyncio.sleep(0.1)
        print(resident_bytes())

run(main())
"""


def measure(effort: Effort) -> list[Figure]:
    return [idle_links(effort.links), _idle_process(effort.runs)]


def idle_links(count: int) -> Figure:
    """What an endpoint grows by per link that does nothing."""
    with child(_accept, None) as pipe:
        address = LinkAddress.of_json(answer(pipe, dict))
        for _ in range(0, count, _BATCH):
            _link_batch(address, pipe)
        links, grown = _accepted(pipe)
    return Figure(
        what=f"{links:,} idle links `40` UDP, each",
        value=grown / links / _KILOBYTE,
        unit="KB",
        remark="of the accepting process",
    )


def _accept(pipe: Connection, _: None) -> None:
    run(_accept_all(pipe))


async def _accept_all(pipe: Connection) -> None:
    """Link with whoever comes; whenever asked, tell how many links are up and what they cost."""
    async with end(_VARIANT) as here:
        address: JsonObject = here.endpoint.address.json()
        before = resident_bytes()
        pipe.send(address)
        while await ordered(pipe):
            links = sum(link.is_up for link in here.endpoint.links.values())
            pipe.send((links, resident_bytes() - before))


def _accepted(pipe: Connection) -> tuple[int, int]:
    """Links that are up over there, and bytes by which it has grown."""
    pipe.send(None)
    links, grown = answer(pipe, tuple)
    return links, grown


def _link_batch(address: LinkAddress, pipe: Connection) -> None:
    """Link that many new identities with the address, then leave without a word."""
    links, _ = _accepted(pipe)
    identities = [Identity.generate([_VARIANT.csid], os.urandom) for _ in range(_BATCH)]
    diallers = [Dialler(address, identity) for identity in identities]
    for dialler in diallers:
        dialler.wait_until_up()
    # The side that dials may be up first: the other waits for an echo when its `at` is newer.
    deadline = time.monotonic() + ANSWER_S
    while _accepted(pipe)[0] < links + _BATCH:
        if time.monotonic() > deadline:
            raise TimeoutError(f"of {_BATCH} new links some do not come up")
        for dialler in diallers:
            dialler.drain()
    for dialler in diallers:
        dialler.close()


def _idle_process(runs: int) -> Figure:
    command = [sys.executable, "-c", _IDLE_PROCESS]
    sizes = [
        int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        for _ in range(runs)
    ]
    return Figure(
        what="idle process with a mesh",
        value=middle(sizes) / _MEGABYTE,
        unit="MB",
        goal=Goal(value_max=45.0),
    )
