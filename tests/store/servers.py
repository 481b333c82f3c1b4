"""Private servers for tests: a Redis and a MariaDB of our own, on free ports of loopback.

    with RedisServer(folder) as redis:
        … redis.url …
        redis.kill(); redis.start()

Nothing outlives the `with`, and nothing of this machine's own services is touched.
"""

import os
import shutil
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from tests.ports import free_port

START_S = 60.0
STOP_S = 30.0
PASSWORD = "a password: with/odd@characters%"


def require(*programs: str) -> str:
    """Where the first one is that is installed; without any the test is skipped, in CI it fails."""
    for program in programs:
        found = shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/local/sbin")
        if found is not None:
            return found
    reason = f"{' or '.join(programs)} is not installed"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


class Server(ABC):
    """A process that can be ended, killed, frozen and started again with what it had on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.is_prepared = False
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    @property
    @abstractmethod
    def url(self) -> str:
        """As a hub is told."""

    @abstractmethod
    def _prepare(self) -> None: ...

    @abstractmethod
    def _command(self) -> Sequence[str]: ...

    @abstractmethod
    def _answers(self) -> bool: ...

    def start(self) -> None:
        """Returns when it answers."""
        if not self.is_prepared:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._prepare()
            self.is_prepared = True
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(), stdout=log, stderr=log, cwd=self.folder, start_new_session=True
            )
        deadline = time.monotonic() + START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise AssertionError((self.folder / "log").read_text(errors="replace")[-3000:])
            time.sleep(0.02)

    def stop(self) -> None:
        """As an operator would."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """As the power would."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        self.stop()
        self.start()

    def freeze(self) -> None:
        """It stays connected and says nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(number)
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(STOP_S)
        self._process = None


class RedisServer(Server):
    """Without files by default: what it held is lost when it ends. `is_lasting`: nothing is."""

    def __init__(self, folder: Path, *, is_lasting: bool = False) -> None:
        super().__init__(folder)
        self._is_lasting = is_lasting
        self._program = require("redis-server")

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def _prepare(self) -> None:
        """It makes its files itself."""

    def _command(self) -> Sequence[str]:
        lasting = ["--appendonly", "yes", "--appendfsync", "always"] if self._is_lasting else []
        options = ["--bind", "127.0.0.1", "--save", "", "--daemonize", "no", *lasting]
        return [self._program, "--port", str(self.port), "--dir", str(self.folder), *options]

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    def clear(self) -> None:
        """Forget everything."""
        with socket.create_connection(("127.0.0.1", self.port), 5) as connection:
            connection.sendall(b"FLUSHALL\r\n")
            assert connection.recv(16).startswith(b"+OK")


class MariaServer(Server):
    """A user with a password and databases of one's own; small. A commit survives `kill`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._program = require("mariadbd")
        self._install = require("mariadb-install-db")
        self._client = require("mariadb")
        self._databases = 0

    @property
    def url(self) -> str:
        return self.url_of("rookery")

    def url_of(self, database: str, *, user: str = "hub", password: str = PASSWORD) -> str:
        quoted = "".join(f"%{byte:02x}" for byte in password.encode())
        return f"mysql://{user}:{quoted}@127.0.0.1:{self.port}/{database}"

    def emptied(self) -> str:
        """The URL of one whose tables, if it has any, have no rows."""
        rows = self._ask(
            "SELECT table_name FROM information_schema.tables WHERE "
            "table_schema = 'rookery' AND table_name <> 'alembic_version'"
        )
        deletions = [f"DELETE FROM rookery.{table};" for table in rows]
        self._execute(" ".join(["SET foreign_key_checks = 0;", *deletions]))
        return self.url

    def new_database(self) -> str:
        """The URL of one that is empty."""
        self._databases += 1
        name = f"test{self._databases}"
        self._execute(f"CREATE DATABASE {name}")
        return self.url_of(name)

    def _prepare(self) -> None:
        subprocess.run(
            [
                *(self._install, "--no-defaults", f"--datadir={self._data}"),
                *("--auth-root-authentication-method=normal", "--skip-test-db", "--force"),
                *([] if os.geteuid() else ["--user=root"]),
            ],
            check=True,
            capture_output=True,
            timeout=START_S,
        )
        # Executed before the first connection is let in, so whoever is answered finds it done.
        (self.folder / "init.sql").write_text(
            "CREATE DATABASE IF NOT EXISTS rookery;\n"
            f"CREATE USER IF NOT EXISTS hub@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';\n"
            "GRANT ALL ON *.* TO hub@'127.0.0.1';\n"
        )

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def _socket(self) -> Path:
        return self.folder / "socket"

    def _command(self) -> Sequence[str]:
        return [
            *(self._program, "--no-defaults", f"--datadir={self._data}"),
            *(f"--port={self.port}", "--bind-address=127.0.0.1", f"--socket={self._socket}"),
            *(f"--pid-file={self.folder / 'pid'}", f"--init-file={self.folder / 'init.sql'}"),
            *("--innodb-buffer-pool-size=32M", "--innodb-log-file-size=8M"),
            *("--innodb-flush-log-at-trx-commit=2", "--innodb-flush-method=nosync"),
            *("--debug-no-sync", "--innodb-doublewrite=0", "--innodb-fast-shutdown=2"),
            *("--performance-schema=OFF", "--skip-log-bin", "--skip-name-resolve"),
            *([] if os.geteuid() else ["--user=root"]),
        ]

    def _answers(self) -> bool:
        return self._call("SELECT 1").returncode == 0

    def _execute(self, statement: str) -> None:
        assert self._call(statement).returncode == 0

    def _ask(self, query: str) -> list[str]:
        return self._call(query).stdout.decode().split()

    def _call(self, statement: str) -> "subprocess.CompletedProcess[bytes]":
        command = [self._client, "--no-defaults", f"--socket={self._socket}", "-uroot"]
        call = [*command, "--skip-column-names", "-e", statement]
        return subprocess.run(call, capture_output=True, check=False, timeout=START_S)
