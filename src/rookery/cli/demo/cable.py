"""A serial cable without hardware: two pseudo-terminals, joined on the event loop."""

import asyncio
import os
import pty
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_READ_SIZE = 4096


@contextmanager
def null_modem() -> Iterator[tuple[str, str]]:
    """The paths of both ends."""
    loop = asyncio.get_running_loop()
    masters, slaves = zip(*(pty.openpty() for _ in range(2)), strict=True)
    left, right = masters
    try:
        for slave in slaves:  # held open, or the cable would see a hang-up
            tty.setraw(slave)
        for source, target in ((left, right), (right, left)):
            os.set_blocking(source, False)
            loop.add_reader(source, _carry, source, target)
        yield os.ttyname(slaves[0]), os.ttyname(slaves[1])
    finally:
        for descriptor in masters:
            loop.remove_reader(descriptor)
        for descriptor in (*masters, *slaves):
            os.close(descriptor)


def _carry(source: int, target: int) -> None:
    with suppress(OSError):  # an end that takes nothing more loses it, as a serial line does
        os.write(target, os.read(source, _READ_SIZE))
