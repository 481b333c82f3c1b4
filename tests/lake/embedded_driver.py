"""`rookery lake run --once` as a process of its own, with its JVM; how to kill both, and when.

    commit    clean/calls              the log of that table has one more entry
    files     facts/call_hours         files are there that no entry of its log names yet
    time      12.5                     so many seconds after the start

It is watched from outside: what is killed is what users run.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

import psutil

from tests.patience import PATIENCE_S

LOG = "_delta_log"

_WAIT_S = 240.0  # until a moment comes: a JVM on a busy machine takes its time
_POLL_S = 0.002


class Moment(NamedTuple):
    """When to kill."""

    kind: Literal["commit", "files", "time"]
    path: str = ""
    after_s: float = 0.0


class Killed(NamedTuple):
    """What became of a process."""

    took_s: float
    is_killed: bool
    has_jvm: bool  # which died with it
    text: str


class EmbeddedDriver:
    """Lands a spool and runs all steps, once."""

    def __init__(self, hub: Path, lake: Path, log: Path) -> None:
        self._lake = lake
        self._log = log
        arguments = [
            "--spool",
            str(hub),
            "--data",
            str(lake),
            "--master",
            "local[2]",
            "--memory",
            "600m",
        ]
        program = [sys.executable, "-c", "from rookery.cli.main import run; run()"]
        self._command = [*program, "lake", "run", "--once", *arguments]

    def run(self, moment: Moment) -> Killed:
        """Until then, or until it ends by itself."""
        has_come = self._watch(moment)
        begun = time.monotonic()
        with self._log.open("wb") as sink:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,  # a group of its own, to be killed as one
            )
        family = psutil.Process(process.pid)
        try:
            while process.poll() is None and not has_come():
                assert time.monotonic() < begun + _WAIT_S, self._log.read_text()
                time.sleep(_POLL_S)
        finally:
            has_jvm = kill(process, family)
        took_s = time.monotonic() - begun
        return Killed(took_s, process.returncode == -signal.SIGKILL, has_jvm, self._log.read_text())

    def _watch(self, moment: Moment) -> Callable[[], bool]:
        if moment.kind == "time":
            deadline = time.monotonic() + moment.after_s
            return lambda: time.monotonic() >= deadline
        folder = self._lake / moment.path
        is_log = moment.kind == "commit"
        before = _files(folder, is_log=is_log)
        return lambda: not _files(folder, is_log=is_log) <= before


def kill(process: "subprocess.Popen[bytes]", family: psutil.Process) -> bool:
    """The whole group at once, and what left it; whether a JVM was among them."""
    try:
        others = family.children(recursive=True)
    except psutil.NoSuchProcess:
        others = []
    has_jvm = any(_is_java(each) for each in others)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for each in others:  # Spark's Python workers have groups of their own
        try:
            each.kill()
        except psutil.NoSuchProcess:
            continue
    _, alive = psutil.wait_procs(others, timeout=PATIENCE_S)
    assert not alive
    return has_jvm


def _is_java(process: psutil.Process) -> bool:
    try:
        return process.name() == "java"
    except psutil.NoSuchProcess:
        return False


def _files(folder: Path, *, is_log: bool) -> frozenset[str]:
    """Entries of a table's log, or what it keeps beside it."""
    found = []
    for place, _, names in os.walk(folder):
        if (Path(place).name == LOG) == is_log:
            found += [f"{place}/{name}" for name in names if not name.startswith((".", "_"))]
    if is_log:
        return frozenset(each for each in found if each.endswith(".json"))
    return frozenset(found)
