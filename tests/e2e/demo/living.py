"""A demo that runs beside the tests, as a user has it: in a folder of its own, until Ctrl-C."""

import asyncio
import json
import os
import select
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from rookery.client.api import HubApi, HubDevice
from rookery.client.credentials import load
from rookery.wire.link.lob import JsonObject
from tests.cli.program import PROGRAM
from tests.patience import PATIENCE_S

START_S = PATIENCE_S
STOP_S = PATIENCE_S
WITHIN_S = PATIENCE_S
TAIL = 2000  # characters of a log


class Living:
    """One demo."""

    def __init__(self, process: "subprocess.Popen[bytes]", home: Path) -> None:
        self._process = process
        self.home = home
        self.folder = home / ".demo"
        self.remarks: list[str] = []
        self.ready: JsonObject = {}
        self._browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        self._browser.addheaders = []

    @property
    def url(self) -> str:
        return str(self.ready["url"])

    def event(self, name: str, within_s: float) -> JsonObject:
        """The next one of that name."""
        deadline = time.monotonic() + within_s
        while True:
            line = self._line(deadline)
            if not line:
                code = self._process.wait()
                pytest.fail(f"the demo ended, exit code {code}: {self.errors()}", pytrace=False)
            event: JsonObject = json.loads(line)
            if event["event"] == "remark":
                self.remarks.append(str(event["text"]))
            if event["event"] == name:
                return event

    def _line(self, deadline: float) -> bytes:
        assert self._process.stdout is not None
        left_s = max(deadline - time.monotonic(), 0.0)
        ready, _, _ = select.select([self._process.stdout], [], [], left_s)
        assert ready, f"nothing was printed in time; {self.errors()}"
        return self._process.stdout.readline()

    def first_run(self, within_s: float) -> None:
        """Of the lake: in order, or the test says why not, in one line and the log's last ones."""
        run = self.event("run", within_s)
        if not run["ok"]:
            log = Path(str(run["log"]))
            tail = log.read_text(errors="replace")[-TAIL:] if log.is_file() else "no such file"
            told = f"the demo's lake: {run['step']}: {run['error']}; {log}:\n{tail}"
            pytest.fail(told, pytrace=False)

    def errors(self) -> str:
        logs = sorted((self.folder / "logs").glob("*.log"))
        told = [(self.home / "errors").read_text()]
        told += [f"{log}:\n{log.read_text(errors='replace')[-TAIL:]}" for log in logs]
        return "\n".join(told)

    @property
    def pid(self) -> int:
        return self._process.pid

    def processes(self) -> list[psutil.Process]:
        """Its own and all that it has started."""
        own = psutil.Process(self._process.pid)
        return [own, *own.children(recursive=True)]

    def memory(self) -> int:
        """Bytes of all of them together, what they share counted once each."""
        return sum(each.memory_info().rss for each in self.processes())

    def interrupt(self) -> int:
        """Ctrl-C in its terminal; the exit code."""
        os.killpg(self._process.pid, signal.SIGINT)
        return self._process.wait(STOP_S)

    def page(self, path: str) -> str:
        """As the administrator sees it; an error unless it is there."""
        if not self._browser.addheaders:
            self._sign_in()
        with self._browser.open(self.url + path, timeout=PATIENCE_S) as answer:
            assert answer.url == self.url + path
            text: str = answer.read().decode()
            return text

    def _sign_in(self) -> None:
        words = {"login": self.ready["login"], "password": self.ready["password"]}
        asked = urllib.request.Request(
            f"{self.url}/api/v1/session",
            json.dumps(words).encode(),
            {"Content-Type": "application/json", "Origin": self.url},
        )
        with self._browser.open(asked, timeout=PATIENCE_S):
            self._browser.addheaders = [("Accept", "text/html, application/json;q=0.5")]

    def devices(self) -> dict[str, HubDevice]:
        api = HubApi(self.url, load(self.folder / "cli").token)
        return {each.name: each for each in asyncio.run(api.devices())}

    def run(self, *arguments: str) -> str:
        """A command of the tour, in the folder that the demo was started in."""
        done = subprocess.run(
            [PROGRAM, *arguments],
            cwd=self.home,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()


def eventually(holds: Callable[[], bool], within_s: float = WITHIN_S) -> None:
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.5)


@contextmanager
def living(home: Path, *arguments: str, within: Sequence[str] = ()) -> Iterator[Living]:
    """Up, and told of; ended with the block if it has not been by then.

    `within` is a command that it is started by, such as one that gives it disks of its own.
    """
    (home / "tmp").mkdir(exist_ok=True)
    environment = {**os.environ, "HOME": str(home), "TMPDIR": str(home / "tmp")}
    with (home / "errors").open("wb") as errors:
        process = subprocess.Popen(
            [*within, PROGRAM, "demo", "--json", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=home,
            env=environment,
            bufsize=0,
            start_new_session=True,
        )
    with process:
        demo = Living(process, home)
        try:
            demo.ready = demo.event("ready", START_S)
            yield demo
        finally:
            process.kill()
