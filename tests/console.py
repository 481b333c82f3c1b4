"""Runs the ```console blocks of a page as a reader would type them.

    $ command              runs in bash; must succeed
    expected output        optional; must then be all of it, `…` standing for any text,
    …                      and alone on a line for any lines
    $ command > FILE &     goes on in the background; the next command waits for FILE's first line

All blocks of a page share one folder and run in order, with the programs of the tests' environment
unless told of others. Ports from 8600 to 8699 are replaced by ones
that are free here. Other fences (```sh, ```text) are only shown.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.patience import PATIENCE_S
from tests.ports import free_ports

COMMAND_TIMEOUT_S = 600  # Spark needs its time, above all where others work as well

# A value of PATH.
PROGRAMS = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PORT = re.compile(r"\b86[0-9]{2}\b")
_READY_FILE = re.compile(r">\s*(\S+)$")


class ConsoleError(AssertionError):
    """A page promised what the installed program does not do."""


@dataclass(frozen=True, slots=True)
class Step:
    command: str
    expected: str = ""

    @property
    def is_background(self) -> bool:
        return self.command.endswith("&")


def steps(page: str) -> list[Step]:
    """The commands of a page, in order, each with the output it promises."""
    return [step for block in _BLOCK.findall(page) for step in _block_steps(block)]


def _block_steps(block: str) -> Iterator[Step]:
    joined = block.replace("\\\n", "")
    before, *commands = re.split(r"^\$ ", joined, flags=re.MULTILINE)
    if before.strip():
        raise ConsoleError(f"a console block must begin with a command: {before.strip()}")
    for text in commands:
        command, _, expected = text.partition("\n")
        yield Step(command.strip(), expected.strip())


def run(page: str, folder: Path, programs: str = PROGRAMS) -> None:
    """Carry out the page in `folder`; ConsoleError at the first thing that does not hold."""
    shell = _Shell(folder, programs)
    with ExitStack() as background:
        for step in steps(_with_free_ports(page)):
            if step.is_background:
                background.enter_context(_background(step, shell))
            else:
                _foreground(step, shell)


@dataclass(frozen=True, slots=True)
class _Shell:
    """A reader's, with nothing of this machine's settings but the way to the programs."""

    folder: Path
    programs: str

    @contextmanager
    def process(self, command: str, output: int) -> Iterator["subprocess.Popen[str]"]:
        process = subprocess.Popen(
            ["bash", "-eo", "pipefail", "-c", command],
            cwd=self.folder,
            env={
                "PATH": self.programs,
                "HOME": str(self.folder),
                "LANG": "C.UTF-8",
                "COLUMNS": "100",
            },
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # so that ending it ends its children too
        )
        with process:
            try:
                yield process
            finally:
                _end(process)


def _with_free_ports(page: str) -> str:
    shown = set(_PORT.findall(page))
    free = dict(zip(shown, map(str, free_ports(len(shown))), strict=True))
    return _PORT.sub(lambda found: free[found[0]], page)


def _foreground(step: Step, shell: _Shell) -> None:
    with shell.process(step.command, subprocess.PIPE) as process:
        try:
            output, _ = process.communicate(timeout=COMMAND_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise ConsoleError(f"$ {step.command}\nstill runs after ten minutes") from None
    if process.returncode:
        raise ConsoleError(f"$ {step.command}\nexit code {process.returncode}:\n{output}")
    if step.expected and not _matches(step.expected, output.strip()):
        raise ConsoleError(f"$ {step.command}\npromised:\n{step.expected}\nprinted:\n{output}")


@contextmanager
def _background(step: Step, shell: _Shell) -> Iterator[None]:
    command = step.command.removesuffix("&").strip()
    with shell.process(command, subprocess.DEVNULL) as process:
        if ready_file := _READY_FILE.search(command):
            _wait_for_first_line(shell.folder / ready_file[1], process, step)
        yield
        if process.poll():
            raise ConsoleError(f"$ {step.command}\nended early, exit code {process.returncode}")


def _wait_for_first_line(path: Path, process: "subprocess.Popen[str]", step: Step) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not (path.exists() and b"\n" in path.read_bytes()):
        if process.poll() is not None or time.monotonic() > deadline:
            raise ConsoleError(f"$ {step.command}\nwrote no line to {path.name}")
        time.sleep(0.05)


def _end(process: "subprocess.Popen[str]") -> None:
    """End the whole group: also what outlived the shell that started it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)
            return


def _matches(expected: str, output: str) -> bool:
    lines = [
        r"(?:.*\n)*?" if line.strip() == "…" else ".*".join(map(re.escape, line.split("…"))) + r"\n"
        for line in expected.splitlines()
    ]
    return re.fullmatch("".join(lines), output + "\n") is not None
