"""A fleet to be attacked, with everything that shows how it bears that.

mallory ───────────────▶ hub, server          from 127.0.0.66 and others
alice's agent ─ wire ──▶ hub                   the wire records, and may be cut
hub, agent ─── detour ─▶ server                likewise
"""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import httpx
import psutil

from rookery.cli.fleet.keys import fleet_identity
from rookery.fleet.reports.sender_state import SenderState
from rookery.runtime.fleet.state_file import FILE_NAME
from rookery.wire.fleet.mac import parse_mac
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.uri import LinkAddress
from tests.cli.program import Running, running
from tests.e2e.fleet.guest import Address
from tests.e2e.fleet.relays import DatagramRelay, Place, StreamRelay
from tests.e2e.fleet.world import Hub, Person, World, eventually

MAC = "02:00:00:00:aa:01"
RENEWAL_S = 10
GROWTH_MAX = 48 << 20  # of a process under attack, in bytes
ANSWER_S = 10.0  # to a legitimate request, meanwhile; a loaded machine alone may take seconds
_INTERVAL_S = "1"
_PATIENCE_S = 60.0


class Service(NamedTuple):
    """A process under attack: how it is, by its own word and by the system's."""

    running: Running
    http: str
    tcp: Address

    @property
    def http_place(self) -> Place:
        host, _, port = self.http.removeprefix("http://").rpartition(":")
        return host, int(port)

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return int(psutil.Process(self.running.pid).memory_info().rss)

    def figure(self, name: str) -> float:
        """Of /metrics, such as `rookery_meetings` or `rookery_…_total{fate="forged"}`."""
        for line in httpx.get(f"{self.http}/metrics", timeout=_PATIENCE_S).text.splitlines():
            found, _, value = line.rpartition(" ")
            if found == name:
                return float(value)
        return 0.0


class Siege(NamedTuple):
    world: World
    hub: Service
    server: Service
    udp: Place
    agent: Running  # alice's
    wire: DatagramRelay
    detour: StreamRelay
    alice: Person
    mallory: Person
    warden: Person  # reads the audit
    stolen: SenderState  # of alice's agent, early on
    folder: Path  # of the agent

    @property
    def mac(self) -> bytes:
        return parse_mac(MAC)

    @property
    def state(self) -> SenderState:
        """What the agent keeps on its disk at the moment."""
        return SenderState.parse((self.folder / FILE_NAME).read_bytes())

    def is_noted(self, what: str, **fields: str) -> bool:
        """Whether the audit has such a row, with a detail that has these texts in it."""
        rows: list[JsonObject] = self.warden.http.get("/api/v1/audit", params={"count": 500}).json()
        return any(
            row["what"] == what and all(text in str(row[key]) for key, text in fields.items())
            for row in rows
        )


def datagrams(kind: str) -> str:
    """The figure of a hub for datagrams of that fate."""
    return f'rookery_report_datagrams_total{{fate="{kind}"}}'


@contextmanager
def besieged(folder: Path) -> Iterator[Siege]:
    """One hub, one server, one agent; two people and who watches over them."""
    with ExitStack() as stack:
        world = stack.enter_context(World(folder, None, 1, "--renewal", str(RENEWAL_S)))
        (hub,) = world.hubs
        link = LinkAddress.parse(hub.link.read_text())
        paths = {path["type"]: path for path in json.loads(hub.link.read_text())["paths"]}
        udp, tcp = (("127.0.0.1", paths[kind]["port"]) for kind in ("udp4", "tcp4"))
        assert link.hashname is not None
        service = Service(hub.running, hub.url, Address(tcp, link.hashname, link.keys[0x2A]))
        detour = stack.enter_context(StreamRelay())
        server = _server(world, detour)
        wire = stack.enter_context(DatagramRelay(udp))
        alice, mallory, warden = (world.person(name) for name in ("alice", "mallory", "warden"))
        for person in (alice, mallory, warden):
            person.register()
        hub.fleet("account", "role", "warden", "admin")
        assert alice.sign_in().code == 0
        agent = stack.enter_context(_agent(folder, hub, wire, alice.code()))
        alice.await_device(MAC)
        keep = folder / "agent"
        stolen = SenderState.parse((keep / FILE_NAME).read_bytes())
        yield Siege(
            *(world, service, server, udp, agent, wire, detour),
            *(alice, mallory, warden, stolen, keep),
        )


def _server(world: World, detour: StreamRelay) -> Service:
    """It says that it is where the detour begins."""
    process = world.server("server", None, "--advertise", f"127.0.0.1:{detour.place[1]}")
    identity = fleet_identity(world.folder / "server")
    ports = {
        each.laddr.port
        for each in psutil.Process(process.pid).net_connections("tcp")
        if each.status == psutil.CONN_LISTEN
    }
    (http,) = [port for port in ports if _is_http(port)]
    (port,) = ports - {http}
    detour.target = ("127.0.0.1", port)
    address = Address(detour.target, identity.hashname, identity.keys[0x2A])
    return Service(process, f"http://127.0.0.1:{http}", address)


def _is_http(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
    except httpx.TransportError:
        return False


@contextmanager
def _agent(folder: Path, hub: Hub, wire: DatagramRelay, code: str) -> Iterator[Running]:
    link = json.loads(hub.link.read_text())
    for path in link["paths"]:
        if path["type"] == "udp4":
            path["port"] = wire.place[1]
    (folder / "wire.link").write_text(json.dumps(link))
    (folder / "agent.code").write_text(code)
    options = ("--mac", MAC, "--interval", _INTERVAL_S, "--claim-file", folder / "agent.code")
    with running(
        "agent", "--hub", folder / "wire.link", "--id", folder / "agent", *options
    ) as agent:
        agent.line(_PATIENCE_S)
        yield agent


class Watch:
    """While an attack lasts, and after it: the process stays small, and serves those it is for."""

    def __init__(self, siege: Siege, service: Service, growth_max: int = GROWTH_MAX) -> None:
        self._siege = siege
        self._service = service
        self._growth_max = growth_max
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._size = service.size
        self.largest = self._size
        self.slowest_s = 0.0
        self.failures: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._thread.join()
        if error is not None:
            return
        assert not self.failures, self.failures
        assert self.slowest_s < ANSWER_S
        assert self.largest - self._size < self._growth_max
        acknowledged = self._siege.wire.acknowledgements
        eventually(lambda: self._siege.wire.acknowledgements > acknowledged)

    def _work(self) -> None:
        self._look()
        while not self._is_over.wait(0.1):
            self._look()
        self._look()

    def _look(self) -> None:
        self.largest = max(self.largest, self._service.size)
        began = time.monotonic()
        try:
            answer = httpx.get(f"{self._service.http}/healthz", timeout=_PATIENCE_S)
            if answer.status_code != 200:
                self.failures.append(f"{answer.status_code}")
        except httpx.TransportError as error:
            self.failures.append(repr(error))
        self.slowest_s = max(self.slowest_s, time.monotonic() - began)


def speaker(place: Place, source: str) -> socket.socket:
    """A UDP socket towards there, from that address, that waits for nothing."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((source, 0))
    sock.connect(place)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    sock.setblocking(False)
    return sock


def answers(sock: socket.socket) -> list[bytes]:
    """What has come by now."""
    found = []
    while True:
        try:
            found.append(sock.recv(1 << 16))
        except (BlockingIOError, ConnectionError):
            return found
