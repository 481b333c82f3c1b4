"""Memory: of a link that does nothing, and of a process that does nothing.

The links are real: one process accepts as many identities as it is told over UDP, each from a port
of its own, and tells how much it has grown. The dialling side is not counted.
"""

import os
import socket
import subprocess
import sys
import time
from multiprocessing.connection import Connection

from bench.ends import Way, end
from bench.figure import Effort, Figure, middle
from bench.process import answer, child, ordered, resident_bytes
from bench.raw import LOOPBACK
from rookery.identity.identity import Identity
from rookery.link.endpoint import Endpoint
from rookery.link.events import Transmit
from rookery.link.link import Link, LinkState
from rookery.runtime.loop import run
from rookery.wire.cloak import cloak, reveal
from rookery.wire.lob import JsonObject
from rookery.wire.path import NetPath
from rookery.wire.uri import LinkAddress

TITLE = "Memory"
PROCESS_GOAL_MB = 45.0

_WAY = Way(0x40, "udp")
_BATCH = 50
_PATIENCE_S = 2.0
_KILOBYTE, _MEGABYTE = 1e3, 1e6

_IDLE_PROCESS = """
import asyncio, rookery.runtime.create
from bench.process import resident_bytes
from rookery.runtime.loop import run

async def main():
    async with rookery.runtime.create.create():
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
            _link_batch(address)
        pipe.send(None)
        links, grown = answer(pipe, tuple)
    return Figure(
        what=f"{links:,} idle links `40` UDP, each",
        value=grown / links / _KILOBYTE,
        unit="KB",
        remark="of the accepting process",
    )


def _accept(pipe: Connection, _: None) -> None:
    run(_accept_all(pipe))


async def _accept_all(pipe: Connection) -> None:
    """Link with whoever comes; when asked, tell how many links are up and what they cost."""
    async with end(_WAY) as here:
        address: JsonObject = here.mesh.address.json()
        before = resident_bytes()
        pipe.send(address)
        await ordered(pipe)
        links = sum(link.is_up for link in here.mesh.links.values())
        pipe.send((links, resident_bytes() - before))


def _link_batch(address: LinkAddress) -> None:
    """Link that many new identities with the address, then leave without a word."""
    diallers = [Dialler(address) for _ in range(_BATCH)]
    for dialler in diallers:
        dialler.wait_until_up()
    for dialler in diallers:
        dialler.close()


class Dialler:
    """A link core on a blocking socket: the least that can dial."""

    def __init__(self, address: LinkAddress) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((LOOPBACK, 0))
        self._socket.settimeout(_PATIENCE_S)
        self._path = next(path for path in address.paths if isinstance(path, NetPath))
        now = time.monotonic()
        identity = Identity.generate([_WAY.csid], os.urandom)
        self._core = Endpoint(identity, random=os.urandom, unix_s=time.time(), now=now)
        assert address.hashname is not None
        self._link: Link = self._core.link(address.hashname, address.keys, [self._path], now)
        self._carry_out()

    def wait_until_up(self) -> None:
        while self._link.state is not LinkState.UP:
            packet = reveal(self._socket.recv(1 << 16))
            self._core.received(self._path, packet, time.monotonic())
            self._carry_out()

    def close(self) -> None:
        self._socket.close()

    def _carry_out(self) -> None:
        self._core.flush(time.monotonic())
        for event in self._core.take():
            if isinstance(event, Transmit):
                self._socket.sendto(cloak(event.data, os.urandom(8)), self._path.address)


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
        limit=PROCESS_GOAL_MB,
        against="goal",
    )
