"""A fleet of real processes on this machine: hubs, servers, agents; and people who use it.

with World(folder, stores) as world:
    hub, = world.hubs
    world.server("one"); router = world.agent("attic")
    alice = world.person(hub, "alice")
"""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import httpx

from rookery.wire.link.lob import JsonObject
from tests.cli.program import Outcome, Running, rookery, running
from tests.patience import PATIENCE_S

INTERVAL_S = 1.0  # between reports, instead of 20
SILENT_AFTER_S = 5.0
PASSWORD = "correct horse battery"


class Stores(NamedTuple):
    """Where hubs keep things; empty: each in its own folder."""

    database: str = ""
    hot: str = "ram:"


class Hub:
    """One hub process; it may be killed and started again with what it has on disk."""

    def __init__(self, folder: Path, stores: Stores, *options: str) -> None:
        self.folder = folder
        self._stores = stores
        self._options = options
        self._ports: list[str] = ["127.0.0.1:0"] * 3
        self._process = ExitStack()
        self.start()

    def start(self) -> None:
        """Returns when it is ready; a second start listens where the first one did."""
        udp, tcp, http = self._ports
        arguments: list[str | Path] = [
            "--data",
            self.folder,
            "--udp",
            udp,
            "--tcp",
            tcp,
            "--http",
            http,
            "--policy",
            "open",
        ]
        stores = ["--hot", self._stores.hot]
        if self._stores.database:
            stores += ["--db", self._stores.database]
        self.running = self._process.enter_context(
            running("hub", *arguments, *stores, *self._options)
        )
        line = self.running.line(PATIENCE_S)
        assert line, self.running.error_line()
        self.link = self.folder.with_suffix(".link")
        self.link.write_text(line)
        paths = {path["type"]: path for path in json.loads(line)["paths"]}
        self.url = str(paths["http"]["url"])
        self._ports = [f"127.0.0.1:{paths[kind]['port']}" for kind in ("udp4", "tcp4")]
        self._ports.append(self.url.removeprefix("http://").rstrip("/"))
        eventually(lambda: httpx.get(f"{self.url}/readyz").status_code == 200)

    def kill(self) -> None:
        self.running.signal(signal.SIGKILL)
        self.close()

    def stop(self) -> int:
        """As an operator would; its exit code."""
        self.running.signal(signal.SIGTERM)
        code = self.running.wait(PATIENCE_S)
        self.close()
        return code

    def close(self) -> None:
        self._process.close()

    def fleet(self, *arguments: str, stdin: str = "") -> JsonObject:
        """`rookery fleet …` on this hub's database."""
        database: list[str | Path] = ["--data", self.folder]
        if self._stores.database:
            database += ["--db", self._stores.database]
        outcome = rookery(
            *("fleet", *arguments, "--json"),
            *database,
            stdin=stdin.encode(),
        )
        assert outcome.code == 0, outcome.err
        return outcome.json()


class Agent(NamedTuple):
    mac: str
    running: Running
    folder: Path


class Person:
    """Somebody with an account, over HTTP as a program and by the command line."""

    def __init__(self, hub: Hub, login: str, folder: Path) -> None:
        self.login = login
        self.hub = hub
        self._data = folder
        self.http = httpx.Client(base_url=hub.url, timeout=PATIENCE_S)
        self.http.headers["Accept"] = "application/json"

    def register(self) -> None:
        """By the seed's own route (F14)."""
        credentials = {"login": self.login, "password": PASSWORD}
        answer = self.http.post("/registation", params=credentials)
        assert answer.status_code in (200, 201), answer.text
        answer = self.http.post("/auth", params=credentials)
        assert answer.status_code in (200, 201), answer.text

    def code(self) -> str:
        """For one new device of one's own."""
        answer = self.http.post("/api/v1/codes", json={"kind": "router"})
        assert answer.status_code == 201, answer.text
        code = answer.json()["code"]
        assert isinstance(code, str)
        return code

    def device(self, mac: str) -> JsonObject:
        answer = self.http.get(f"/api/v1/devices/{mac}")
        return answer.json() if answer.status_code == 200 else {}

    def await_device(self, mac: str, state: str = "online") -> None:
        eventually(lambda: self.device(mac).get("state") == state)

    def steps(self, mac: str) -> Iterator[JsonObject]:
        """What happens when this one connects, as it happens."""
        path, accept = f"/api/v1/devices/{mac}/connect", {"Accept": "text/event-stream"}
        with self.http.stream("POST", path, headers=accept) as answer:
            assert answer.status_code == 200, answer.read()
            for line in answer.iter_lines():
                if line.startswith("data:"):
                    yield json.loads(line[5:])

    def sign_in(self) -> Outcome:
        return rookery(
            *("login", self.hub.url, "--login", self.login, "--data", self._data),
            stdin=f"{PASSWORD}\n".encode(),
        )

    def rpc(self, mac: str, method: str, params: object = None) -> Outcome:
        """By the command line, from asking the hub to the answer of the device."""
        words = [] if params is None else [json.dumps(params)]
        return rookery("rpc", mac, method, *words, "--data", self._data)


class World:
    """Everything that was started, which ends with it."""

    def __init__(
        self, folder: Path, stores: Stores | None = None, hubs: int = 1, *options: str
    ) -> None:
        self.folder = folder
        self._stack = ExitStack()
        self._macs = 0
        stores = stores or Stores()
        options = ("--silent-after", str(SILENT_AFTER_S), *options)
        with self._stack:
            self.hubs = [
                self._hub(folder / f"hub-{number}", stores, options) for number in range(hubs)
            ]
            self._stack = self._stack.pop_all()

    def _hub(self, folder: Path, stores: Stores, options: tuple[str, ...]) -> Hub:
        hub = Hub(folder, stores, *options)
        self._stack.callback(hub.close)
        return hub

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def server(self, name: str, hub: Hub | None = None, *options: str) -> Running:
        hub = hub or self.hubs[0]
        code = self.folder / f"{name}.code"
        code.write_text(str(hub.fleet("code", "--server")["code"]))
        server = self._stack.enter_context(
            running(
                *("server", "--hub", hub.link, "--id", self.folder / name),
                *("--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--code-file", code),
                *options,
            )
        )
        server.line(PATIENCE_S)
        return server

    def agent(self, name: str, code: str = "", hub: Hub | None = None, mac: str = "") -> Agent:
        hub = hub or self.hubs[0]
        self._macs += 1
        mac = mac or f"02:00:00:00:00:{self._macs:02x}"
        options: list[str | Path] = ["--mac", mac, "--interval", str(INTERVAL_S)]
        if code:
            (self.folder / f"{name}.code").write_text(code)
            options += ["--claim-file", self.folder / f"{name}.code"]
        folder = self.folder / name
        process = self._stack.enter_context(
            running("agent", "--hub", hub.link, "--id", folder, *options)
        )
        process.line(PATIENCE_S)
        return Agent(mac, process, folder)

    def person(self, login: str, hub: Hub | None = None) -> Person:
        person = Person(hub or self.hubs[0], login, self.folder / f"person-{login}")
        self._stack.callback(person.http.close)
        return person


def eventually(is_so: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    """Returns as soon as it is; AssertionError when it never becomes so."""
    deadline = time.monotonic() + patience_s
    while not _holds(is_so):
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.05)


def _holds(is_so: Callable[[], bool]) -> bool:
    try:
        return is_so()
    except httpx.TransportError:
        return False


@contextmanager
def frozen(process: Running) -> Iterator[None]:
    """It is there, and answers nothing."""
    process.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process.pid, signal.SIGCONT)
