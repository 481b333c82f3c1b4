"""Calls of the compiler, on all processors, and none for what has not changed."""

import hashlib
import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from build_cores.progress import Progress
from build_cores.toolchain import CannotCompileError, failure

_BYTES_EACH = 600_000_000  # of memory for a compiler


class Step(NamedTuple):
    """One call; the command lacks only where to write."""

    output: Path
    command: tuple[str, ...]
    inputs: tuple[Path, ...]
    modules: int = 0


class Steps:
    """Carried out in a folder; of what each output was made is remembered in a file."""

    def __init__(self, folder: Path, memory: Path) -> None:
        self._folder = folder
        self._memory = memory
        self._made: dict[str, str] = json.loads(memory.read_text()) if memory.exists() else {}

    def take(self, steps: Sequence[Step], progress: Progress) -> None:
        """Those that are due, the longest first."""
        digests = {step: _digest_of(step) for step in steps}
        due = [step for step in steps if not self._is_made(step, digests[step])]
        due.sort(key=lambda step: -sum(path.stat().st_size for path in step.inputs))
        progress.advance(sum(step.modules for step in steps) - sum(step.modules for step in due))
        with ThreadPoolExecutor(_workers()) as pool:
            try:
                running = {pool.submit(self._take, step): step for step in due}
                for each in as_completed(running):
                    each.result()
                    step = running[each]
                    self._made[str(step.output)] = digests[step]
                    progress.advance(step.modules)
            finally:
                pool.shutdown(cancel_futures=True)
                self._memory.write_text(json.dumps(self._made))

    def _is_made(self, step: Step, digest: str) -> bool:
        return step.output.exists() and self._made.get(str(step.output)) == digest

    def _take(self, step: Step) -> None:
        """A library that somebody has loaded is replaced, never written to."""
        step.output.parent.mkdir(parents=True, exist_ok=True)
        new = step.output.with_name(f".{step.output.name}")
        reason = failure((*step.command, "-o", str(new)), self._folder)
        if reason is not None:
            raise CannotCompileError(reason)
        new.replace(step.output)


def digest(*paths: Path) -> str:
    """Of what is in files."""
    found = hashlib.sha256()
    for path in paths:
        found.update(path.read_bytes())
    return found.hexdigest()


def _digest_of(step: Step) -> str:
    command = hashlib.sha256(json.dumps(step.command).encode()).hexdigest()
    return f"{digest(*step.inputs)} {command}"


def _workers() -> int:
    processors = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(processors, memory // _BYTES_EACH))
