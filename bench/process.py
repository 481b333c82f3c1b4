"""Children: a function of this package in a process of its own, with a pipe to it.

The two ends of everything measured here run apart, as they do in life; one interpreter for both
would measure half of each.
"""

import asyncio
import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar

ANSWER_S = 120.0

Argument = TypeVar("Argument")
Answer = TypeVar("Answer")

_context = multiprocessing.get_context("spawn")


@contextmanager
def child(work: Callable[[Connection, Argument], None], argument: Argument) -> Iterator[Connection]:
    """Run `work(pipe, argument)` elsewhere; it should end when the pipe says so or closes."""
    ours, theirs = _context.Pipe()
    process = _context.Process(target=work, args=(theirs, argument), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        process.join(5.0)
        if process.is_alive():
            process.kill()
            process.join()


def answer(pipe: Connection, kind: type[Answer], timeout_s: float = ANSWER_S) -> Answer:
    """What the child says next; TimeoutError when it says nothing."""
    if not pipe.poll(timeout_s):
        raise TimeoutError("a child process does not answer")
    said = pipe.recv()
    assert isinstance(said, kind), said
    return said


async def ordered(pipe: Connection) -> bool:
    """In a child: wait for the parent's next word; False when it has closed the pipe."""
    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()
    loop.add_reader(pipe.fileno(), arrived.set)
    try:
        await arrived.wait()
    finally:
        loop.remove_reader(pipe.fileno())
        os.set_blocking(pipe.fileno(), True)  # uvloop thinks otherwise
    try:
        pipe.recv()
    except EOFError:
        return False
    return True


def resident_bytes() -> int:
    """Physical memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
