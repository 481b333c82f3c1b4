"""`exec`: runs a program of the device, if its allow list says so; an empty list allows nothing.

    # one command a line, in words as a shell would split them, the program by its whole path
    /sbin/reboot
    /usr/bin/uptime -p
    /bin/systemctl restart *

A word must be the same; `*` is any one word that does not begin with `-`. There is no shell: words
are handed to the program as they are. Only the file's owner may be able to change it.
"""

import asyncio
import contextlib
import os
import shlex
import signal
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Self

import msgspec
from msgspec import Meta

from rookery.errors import CongestionError, DeniedError, UnreachableError, UsageError

RULES_MAX = 256
OUTPUT_SIZE_MAX = 1 << 16  # of each of the two
TIMEOUT_S_MAX = 300.0
RUNNING_MAX = 4

ANY = "*"

_FILE_SIZE_MAX = 1 << 16
_READ_SIZE = 1 << 14

Word = Annotated[str, Meta(max_length=1024, pattern=r"^[^\x00]*$")]
Argv = Annotated[list[Word], Meta(min_length=1, max_length=32)]
Seconds = Annotated[float, Meta(gt=0, le=TIMEOUT_S_MAX)]


class ExecResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a program ended and what it printed."""

    code: int  # negative: minus the signal that ended it
    out: str
    err: str
    is_cut: bool  # it printed more than is kept
    is_timed_out: bool


class ExecAllowList:
    """Which commands may be run."""

    def __init__(self, rules: Iterable[Sequence[str]] = ()) -> None:
        self._rules = tuple(tuple(rule) for rule in rules)

    @classmethod
    def load(cls, file: Path) -> Self:
        """Read a list; UsageError when it is none, or others could write to it."""
        try:
            with file.open(encoding="utf-8") as stream:
                _check_owner(file, os.fstat(stream.fileno()))
                return cls.parse(stream.read(_FILE_SIZE_MAX))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read the allow list {file}: {error}") from error

    @classmethod
    def parse(cls, text: str) -> Self:
        rules = []
        for number, line in enumerate(text.splitlines(), 1):
            try:
                words = shlex.split(line, comments=True)
            except ValueError as error:
                raise UsageError(f"line {number} of the allow list: {error}") from error
            if words and not words[0].startswith("/"):
                raise UsageError(f"line {number} of the allow list: give {words[0]}'s whole path")
            if words:
                rules.append(words)
        if len(rules) > RULES_MAX:
            raise UsageError(f"an allow list has at most {RULES_MAX} commands")
        return cls(rules)

    def allows(self, argv: Sequence[str]) -> bool:
        return any(_matches(rule, argv) for rule in self._rules)


class ExecRunner:
    """Runs what the list allows, a few at a time."""

    def __init__(self, allowed: ExecAllowList) -> None:
        self._allowed = allowed
        self._running = 0

    async def exec(self, argv: Argv, timeout_s: Seconds = 10.0) -> ExecResult:
        """Run a program that the device's allow list names, without a shell."""
        if not self._allowed.allows(argv):
            raise DeniedError(
                f"{shlex.join(argv)[:200]} is not on the device's allow list (--allow-exec)"
            )
        if self._running >= RUNNING_MAX:
            raise CongestionError(f"{RUNNING_MAX} programs are running already")
        self._running += 1
        try:
            return await _run(argv, timeout_s)
        finally:
            self._running -= 1


def _check_owner(file: Path, found: os.stat_result) -> None:
    is_ours = found.st_uid in (0, os.getuid())
    if not is_ours or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UsageError(f"others could write to {file}; chown it to the agent's user, chmod 600")


def _matches(rule: Sequence[str], argv: Sequence[str]) -> bool:
    return len(rule) == len(argv) and all(
        word == wanted or (wanted == ANY and not word.startswith("-"))
        for wanted, word in zip(rule, argv, strict=True)
    )


async def _run(argv: Sequence[str], timeout_s: float) -> ExecResult:
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd="/",
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"},
            start_new_session=True,  # so that ending it ends its children too
        )
    except OSError as error:
        raise UnreachableError(f"{argv[0]} cannot be run: {error.strerror}") from error
    assert process.stdout is not None
    assert process.stderr is not None
    is_timed_out = False
    out, err = bytearray(), bytearray()
    try:
        async with asyncio.timeout(timeout_s), asyncio.TaskGroup() as tasks:
            tasks.create_task(_collect(process.stdout, out))
            tasks.create_task(_collect(process.stderr, err))
            await process.wait()
    except TimeoutError:
        is_timed_out = True
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        code = await process.wait()
    return ExecResult(
        code=code,
        out=_text(out),
        err=_text(err),
        is_cut=max(len(out), len(err)) > OUTPUT_SIZE_MAX,
        is_timed_out=is_timed_out,
    )


async def _collect(stream: asyncio.StreamReader, kept: bytearray) -> None:
    """Read to the end, keep the beginning: a program that prints on must not be stuck."""
    while data := await stream.read(_READ_SIZE):
        kept += data[: max(OUTPUT_SIZE_MAX + 1 - len(kept), 0)]


def _text(kept: bytearray) -> str:
    return bytes(kept[:OUTPUT_SIZE_MAX]).decode(errors="replace")
