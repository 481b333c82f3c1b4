"""Databases behind an exit: one of our own that speaks Redis' protocol, and PostgreSQL."""

import contextlib
import os
import pwd
import shutil
import socketserver
import subprocess
import tempfile
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path

from tests.e2e.mesh.colony import until
from tests.e2e.mesh.destinations import LOCAL, QuietServer, refuses
from tests.ports import free_port

POSTGRES_USER = "postgres"
START_S = 60


class Lists(QuietServer):
    """Lists by name, as Redis keeps them; knows RPUSH and LLEN."""

    def __init__(self) -> None:
        super().__init__(LOCAL, _Session)
        self.lists: dict[bytes, list[bytes]] = {}
        self.sessions = 0


class _Session(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, Lists)
        self.server.sessions += 1
        while words := _command(self.rfile):
            name, key, *values = words
            kept = self.server.lists.setdefault(key, [])
            if name == b"RPUSH":
                kept += values
            self.wfile.write(b":%d\r\n" % len(kept))


def command(*words: bytes) -> bytes:
    """A command as clients of Redis write it."""
    sized = [b"$%d\r\n%s\r\n" % (len(word), word) for word in words]
    return b"*%d\r\n" % len(words) + b"".join(sized)


def _command(lines: BufferedIOBase) -> list[bytes]:
    count = lines.readline()
    words = []
    for _ in range(int(count[1:] or b"0")):
        size = int(lines.readline()[1:])
        words.append(lines.read(size + 2)[:-2])
    return words


def has_postgres() -> bool:
    """Whether a server can be made here: it refuses to run as root, so it needs its user."""
    programs = all(map(shutil.which, ("initdb", "postgres", "psql")))
    users = {user.pw_name for user in pwd.getpwall()}
    return programs and os.geteuid() == 0 and POSTGRES_USER in users


@contextlib.contextmanager
def postgres() -> Iterator[int]:
    """A new PostgreSQL server; its port."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="rook-postgres") as folder:
        shutil.chown(folder, POSTGRES_USER)
        data = str(Path(folder) / "data")
        with _postgres(folder, "initdb", "--no-sync", "--auth=trust", "-D", data) as making:
            assert making.wait(START_S) == 0
        where = ["-p", str(port), "-k", "", "-h", "127.0.0.1"]
        with _postgres(folder, "postgres", "-F", "-D", data, *where) as server:
            try:
                until(lambda: not refuses(port))
                yield port
            finally:
                server.terminate()


def _postgres(folder: str, *words: str) -> "subprocess.Popen[bytes]":
    quiet = subprocess.DEVNULL
    return subprocess.Popen(words, user=POSTGRES_USER, cwd=folder, stdout=quiet, stderr=quiet)


class Psql:
    """PostgreSQL's own client, asked one statement after another; made by `psql`."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._questions, self._answers = process.stdin, process.stdout

    def ask(self, statement: str) -> str:
        """The one row that comes of it."""
        self._questions.write(f"{statement}\n")
        self._questions.flush()
        return self._answers.readline().rstrip("\n")


@contextlib.contextmanager
def psql(port: int) -> Iterator[Psql]:
    words = ["psql", "-XqAt", "-h", "127.0.0.1", "-p", str(port), "-U", POSTGRES_USER, "postgres"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield Psql(process)
        finally:
            process.kill()
