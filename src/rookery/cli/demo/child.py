"""Child: `rookery …` as a process beside this one, which ends with it whatever happens.

It is in a group of its own, so that Ctrl-C is ours to pass on, and whatever it has started itself
(Spark starts Java) ends with it.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from rookery.errors import UnreachableError

STOP_S = 2.5  # for saying goodbye
NICE = 5
LINE_SIZE_MAX = 1 << 20
_TAIL_SIZE = 4096

# Linux lets a process ask to be told when its parent is gone; elsewhere it is left at that.
_PROGRAM = """\
import ctypes, os, signal, sys
parent, nice = int(sys.argv[1]), int(sys.argv[2])
os.nice(nice)
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit(1)
sys.argv[:3] = ["rookery"]
from rookery.cli.main import run
run()
"""


class ChildProcess:
    """One process; `child` makes it and ends it."""

    def __init__(self, process: asyncio.subprocess.Process, name: str, log: Path) -> None:
        self._process = process
        self._name = name
        self._log = log

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None

    async def lines(self) -> AsyncIterator[str]:
        """The lines that it prints, until it ends."""
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            yield line.decode(errors="replace")

    async def wait(self) -> int:
        return await self._process.wait()

    async def failed(self) -> None:
        """Wait for it to end, which it should not: UnreachableError then, with its last words."""
        code = await self._process.wait()
        said = await asyncio.to_thread(_last_line, self._log)
        raise UnreachableError(
            f"{self._name} has ended with exit code {code}{said}; see {self._log.absolute()}"
        )

    async def stop(self) -> None:
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_S):
                await self._process.wait()
        finally:
            self._signal(signal.SIGKILL)  # all that is left of its group
            await self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _last_line(log: Path) -> str:
    """Its last line after a colon, or nothing."""
    try:
        with log.open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - _TAIL_SIZE, 0))
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        return ""
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f": {last.removeprefix('rookery: ')}" if last else ""


@asynccontextmanager
async def child(
    name: str,
    arguments: Sequence[str],
    *,
    log: Path,
    out: Path | None = None,
    nice: int = 0,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[ChildProcess]:
    """`rookery ARGUMENTS`, whose errors go to the log; its output to a file, or to `lines`."""
    with (
        log.open("ab") as errors,
        contextlib.nullcontext(asyncio.subprocess.PIPE) if out is None else out.open("wb") as sink,
    ):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _PROGRAM, str(os.getpid()), str(nice)),
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=sink,
            stderr=errors,
            limit=LINE_SIZE_MAX,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
    running = ChildProcess(process, name, log)
    try:
        yield running
    finally:
        with contextlib.suppress(TimeoutError):
            await running.stop()
