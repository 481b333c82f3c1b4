"""A serial cable without hardware: two pseudo-terminals, joined by a thread."""

import os
import pty
import select
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

_READ_SIZE = 4096


@contextmanager
def null_modem(folder: Path) -> Iterator[tuple[Path, Path]]:
    """The paths of both ends, which may be opened and left at any time."""
    masters, slaves, paths = [], [], []
    for name in ("left", "right"):
        master, slave = pty.openpty()
        tty.setraw(slave)
        path = folder / name
        path.symlink_to(os.ttyname(slave))
        masters.append(master)
        slaves.append(slave)  # held, or the cable would see a hang-up
        paths.append(path)
    stop, stopped = os.pipe()
    cable = Thread(target=_carry, args=(masters, stop))
    cable.start()
    try:
        yield paths[0], paths[1]
    finally:
        os.close(stopped)
        cable.join()
        for descriptor in (*masters, *slaves, stop):
            os.close(descriptor)


def _carry(masters: list[int], stop: int) -> None:
    left, right = masters
    other = {left: right, right: left}
    while True:
        ready, _, _ = select.select([left, right, stop], [], [])
        if stop in ready:
            return
        for source in ready:
            with suppress(OSError):
                os.write(other[source], os.read(source, _READ_SIZE))
