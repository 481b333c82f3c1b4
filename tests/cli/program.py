"""The installed `rookery` as a subprocess: run to its end, or kept running beside the test."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from rookery.wire.link.lob import JsonObject
from tests.patience import PATIENCE_S

PROGRAM = Path(sys.executable).parent / "rookery"


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    def json(self) -> JsonObject:
        """The one object printed, which says its version."""
        (value,) = self.json_lines()
        return value

    def json_lines(self) -> list[JsonObject]:
        values = [json.loads(line) for line in self.out.splitlines()]
        assert all(value["v"] == 1 for value in values)
        return values

    def complaint(self) -> str:
        """The one line on stderr that every error is."""
        (line,) = self.err.splitlines()
        assert line.startswith("rookery: ")
        assert "Traceback" not in line
        return line


def rookery(*arguments: str | Path, stdin: bytes = b"", cwd: Path | None = None) -> Outcome:
    """Run it to its end."""
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        timeout=PATIENCE_S,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


class Running:
    """A process that goes on; reads its output line by line."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def line(self, timeout_s: float = PATIENCE_S) -> str:
        """The next line of stdout."""
        return self._line(self._process.stdout, timeout_s)

    def error_line(self) -> str:
        """The next line of stderr."""
        return self._line(self._process.stderr)

    def errors(self) -> str:
        """All of stderr that has come since the last look."""
        stream, found = self._process.stderr, b""
        assert stream is not None
        while select.select([stream], [], [], 0)[0] and (data := os.read(stream.fileno(), 1 << 16)):
            found += data
        return found.decode()

    def say(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(text.encode())

    def end_input(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    def end_output(self) -> None:
        """As a reader that has seen enough."""
        assert self._process.stdout is not None
        self._process.stdout.close()

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self, timeout_s: float = PATIENCE_S) -> int:
        return self._process.wait(timeout_s)

    def _line(self, stream: IO[bytes] | None, timeout_s: float = PATIENCE_S) -> str:
        assert stream is not None
        ready, _, _ = select.select([stream], [], [], timeout_s)
        assert ready, "nothing was printed"
        return stream.readline().decode()


@contextmanager
def running(*arguments: str | Path, cwd: Path | None = None) -> Iterator[Running]:
    """Start it, and end it with the block if it has not ended by then."""
    process = subprocess.Popen(
        [PROGRAM, *map(str, arguments)],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    with process:
        try:
            yield Running(process)
        finally:
            process.kill()
