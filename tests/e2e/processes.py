"""Processes of the tests from end to end: the program itself, and modules beside the tests."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rookery.wire.link.lob import JsonObject
from tests.cli.program import PROGRAM, Running

ROOT = Path(__file__).parent.parent.parent


@contextmanager
def module(name: str, *arguments: str) -> Iterator[Running]:
    """`python -m NAME`, ended with the block."""
    with _process([sys.executable, "-m", name, *arguments]) as process:
        yield Running(process)


@contextmanager
def crow(verb: str, *arguments: str) -> Iterator[tuple["subprocess.Popen[bytes]", JsonObject]]:
    """`rookery crow VERB --json`, ended with the block; its first line."""
    with _process([str(PROGRAM), "crow", verb, *arguments, "--json"]) as process:
        yield process, next_line(process)


def next_line(process: "subprocess.Popen[bytes]") -> JsonObject:
    """The next object on stdout."""
    line: JsonObject = json.loads(Running(process).line())
    return line


@contextmanager
def _process(command: list[str]) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        command,
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def resident_bytes(process: "subprocess.Popen[bytes]") -> int:
    """Physical memory of a process."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
