"""Ports for programs that are told theirs: free for TCP and UDP, and given to nobody else.

The system hands out ports from 32768 on, the demo takes its own from 20000 on. Each worker has a
slice of those below and gives each of them once, so that no two tests are told the same.
"""

import os
import secrets
from collections.abc import Iterator

from rookery.cli.demo.ports import is_free

_FIRST, _SLICE, _SLICES = 12_000, 1000, 8


def free_port() -> int:
    return next(_PORTS)


def free_ports(count: int) -> list[int]:
    return [free_port() for _ in range(count)]


def _ports() -> Iterator[int]:
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    first = _FIRST + int(worker.removeprefix("gw")) % _SLICES * _SLICE
    begin = secrets.randbelow(_SLICE)  # another run on this machine begins elsewhere
    while True:
        for number in range(begin, begin + _SLICE):
            port = first + number % _SLICE
            if is_free(port, ("tcp", "udp")):
                yield port


_PORTS = _ports()
