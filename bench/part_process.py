"""One part in a process of its own: its rows, or one line about why there are none.

The process leads a session, so that whatever it started ends with it, also when it hangs.
"""

import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import NamedTuple

from bench.figure import Effort, Row
from bench.parts import Part

_END_S = 15.0  # to clean up after itself
_WHY_MAX = 200

_context = multiprocessing.get_context("spawn")


class Measured(NamedTuple):
    """What became of a part."""

    part: Part
    rows: Sequence[Row]
    failure: str  # empty, or why there are no rows
    seconds: float


def measured(part: Part, effort: Effort) -> Measured:
    began = time.monotonic()
    ours, theirs = _context.Pipe(duplex=False)
    with ours, _ended(_context.Process(target=_work, args=(theirs, part.path, effort))) as process:
        theirs.close()
        rows, failure = _answer(part, ours, process)
    return Measured(part, rows, failure, time.monotonic() - began)


def _answer(part: Part, pipe: Connection, process: SpawnProcess) -> tuple[Sequence[Row], str]:
    if not pipe.poll(part.limit_s):
        return (), f"given up after {part.limit_s / 60:.0f} minutes"
    try:
        rows, failure = pipe.recv()
    except EOFError:
        process.join(_END_S)
        return (), f"its process ended with exit code {process.exitcode}"
    wait([process.sentinel], _END_S)
    return rows, failure


@contextmanager
def _ended(process: SpawnProcess) -> Iterator[SpawnProcess]:
    process.start()
    try:
        yield process
    finally:
        if process.pid is not None and process.is_alive():
            os.kill(process.pid, signal.SIGINT)
            wait([process.sentinel], _END_S)
        _kill_session(process)
        process.join()


def _kill_session(process: SpawnProcess) -> None:
    process.kill()  # it may be too young to lead a session
    with suppress(ProcessLookupError):
        os.killpg(process.pid or 0, signal.SIGKILL)


def _work(pipe: Connection, path: str, effort: Effort) -> None:
    os.setsid()
    try:
        pipe.send((list(import_module(path).measure(effort)), ""))
    except Exception as error:  # the other parts go on
        traceback.print_exc()
        pipe.send(((), _told(error)))


def _told(error: Exception) -> str:
    lines = str(error).splitlines()
    return ": ".join([type(error).__name__, *lines[:1]])[:_WHY_MAX]
