"""M7, M8: doors of a running node, whose exit nobody can dial and only relays lead to.

    alice ── east, west ── bob ── pages, echoes, a serial line

Every verb is a process; what is behind the exit listens in this one.
"""

import os
import pty
import shutil
import signal
import socket
import socketserver
import subprocess
import threading
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

from rookery.wire.lob import JsonObject
from tests.cli.program import Outcome, Running, rookery, running
from tests.runtime.realms import Home, realm

CURL = shutil.which("curl")
PAGE = b"rooks\n" * 50_000
PATIENCE_S = 30.0


class Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: object) -> None:
        pass


class Echoes(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        while data := self.request.recv(4096):
            self.request.sendall(data)


class DatagramEchoes(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        data, sock = self.request
        sock.sendto(data, self.client_address)


class ThreadingEchoServer(socketserver.ThreadingTCPServer):
    daemon_threads = True


class World(NamedTuple):
    alice: Home
    bob: Home
    nodes: dict[str, Running]
    pages: int  # ports of what is behind bob
    echoes: int
    datagrams: int
    forbidden: int  # listens, but no rule of bob's knows it
    bound: int  # where bob may listen for others
    line: int  # the other end of bob's serial line

    def ask(self, verb: str, *arguments: str) -> Outcome:
        return rookery(verb, *arguments, "--id", self.alice.keys)

    @contextmanager
    def door(self, verb: str, *arguments: str) -> Iterator[tuple[Running, int]]:
        """A door of alice's, and the port it listens on."""
        options = [*arguments, "--id", str(self.alice.keys)]
        with running(verb, *options) as door:
            where = next(word for word in door.line().split() if word.startswith("127.0.0.1:"))
            yield door, int(where.rstrip(",").rpartition(":")[2])


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.1)


def serving(stack: ExitStack, server: socketserver.BaseServer) -> int:
    stack.enter_context(server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    stack.callback(thread.join)
    stack.callback(server.shutdown)
    assert isinstance(server.server_address, tuple)
    return int(server.server_address[1])


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("doors")
    names = ("east", "west", "alice", "bob")
    homes = {home.name: home for home in realm(folder, *names, exits=["bob"])}
    local = ("127.0.0.1", 0)
    with ExitStack() as stack:
        pages = serving(stack, ThreadingHTTPServer(local, Pages))
        echoes = serving(stack, ThreadingEchoServer(local, Echoes))
        datagrams = serving(stack, socketserver.UDPServer(local, DatagramEchoes))
        forbidden = serving(stack, ThreadingHTTPServer(local, Pages))
        bound = free_port()
        line, far = pty.openpty()
        tty.setraw(far)
        stack.callback(os.close, line)
        stack.callback(os.close, far)
        nodes = {}

        def start(name: str, *options: str) -> str:
            nodes[name] = stack.enter_context(running("node", *homes[name].options, *options))
            link = folder / f"{name}.link"
            link.write_text(nodes[name].line())
            return str(link)

        relays = [option for name in names[:2] for option in ("--peer", start(name))]
        start("alice", *relays, "--advertise", "none")
        rules = [
            f"tcp 127.0.0.1:{pages}",
            f"tcp 127.0.0.1:{echoes}",
            f"udp 127.0.0.1:{datagrams}",
            f"bind tcp 127.0.0.1:{bound}",
            "serial meter",
        ]
        exits = [option for rule in rules for option in ("--exit", rule)]
        device = f"meter={os.ttyname(far)}"
        start("bob", *relays, "--advertise", "none", *exits, "--device", device)
        made = World(
            homes["alice"],
            homes["bob"],
            nodes,
            pages,
            echoes,
            datagrams,
            forbidden,
            bound,
            line,
        )
        until(lambda: len(ways(made)) == 2)
        yield made


def ways(world: World) -> list[str]:
    """The relays to bob, the one in use first."""
    rows = world.ask("routes", "--json").json_lines()
    route = next((row for row in rows if name_of(row["to"]) == "bob"), None)
    if route is None or not isinstance(route["way"], dict):
        return []
    assert isinstance(route["alternates"], list)
    return [name_of(way["nodes"][1]) for way in (route["way"], *route["alternates"])]


def name_of(who: object) -> str:
    assert isinstance(who, dict)
    return str(who["name"])


def curl(*arguments: str) -> "subprocess.CompletedProcess[bytes]":
    if CURL is None:
        pytest.skip("needs curl")
    command = [CURL, "-sS", "--noproxy", "", "--max-time", "20", *arguments]
    return subprocess.run(command, capture_output=True, check=False, timeout=30)


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), 20)


def received(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := sock.recv(size - len(data))):
        data += more
    return data


def refuses(port: int) -> bool:
    try:
        connected(port).close()
    except ConnectionRefusedError:
        return True
    return False


def test_curl_gets_out_by_socks(world: World) -> None:
    with world.door("socks", "--listen", "127.0.0.1:0", "--exit", "bob") as (_, port):
        page = f"http://127.0.0.1:{world.pages}/"
        assert curl("--proxy", f"socks5h://127.0.0.1:{port}", page).stdout == PAGE


def test_curl_gets_out_by_http_connect_and_any_exit(world: World) -> None:
    """The exits tell the realm what they offer."""
    places = ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"]
    with world.door("socks", *places, "--exit", "auto") as (door, _):
        http = door.line()
        assert http.startswith("HTTP CONNECT on 127.0.0.1:")
        proxy = f"http://{http.split()[3].rstrip(',')}"
        page = f"http://127.0.0.1:{world.pages}/"

        def is_through() -> bool:  # bob's record may still be on its way
            return curl("--proxytunnel", "--proxy", proxy, page).stdout == PAGE

        until(is_through)


def test_what_no_rule_allows_is_refused_and_said(world: World) -> None:
    places = ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"]
    page = f"http://127.0.0.1:{world.forbidden}/"
    with world.door("socks", *places, "--exit", "bob") as (door, port):
        http = door.line().split()[3].rstrip(",")
        by_socks = curl("--proxy", f"socks5h://127.0.0.1:{port}", page)
        assert (by_socks.returncode, by_socks.stdout) == (97, b"")
        trouble = door.error_line()
        assert f"127.0.0.1:{world.forbidden}: no rule allows it, through bob" in trouble
        assert "--exit RULE" in trouble
        by_http = curl("--proxytunnel", "--proxy", f"http://{http}", page)
        assert b"403" in by_http.stderr


def test_programs_read_json(world: World) -> None:
    options = ["--json", "--id", str(world.alice.keys)]
    with running("forward", f"0:127.0.0.1:{world.echoes}@bob", *options) as forward:
        row: JsonObject = Outcome(0, forward.line(), "").json()
    assert (row["is"], row["kind"], row["to"]) == ("door", "tcp", f"127.0.0.1:{world.echoes}")
    assert row["exit"] == {"hashname": world.bob.hashname, "name": "bob"}
    assert isinstance(row["listening"], dict)
    assert row["listening"]["host"] == "127.0.0.1"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_door_closes_with_its_command(world: World, number: signal.Signals) -> None:
    with (
        world.door("forward", f"0:127.0.0.1:{world.echoes}@bob") as (door, port),
        connected(port) as session,
    ):
        session.sendall(b"hello")
        assert received(session, 5) == b"hello"
        door.signal(number)
        assert door.wait() == (0 if number is signal.SIGINT else -signal.SIGKILL)
        until(lambda: refuses(port))


def test_datagrams_there_and_back(world: World) -> None:
    with (
        world.door("forward", f"0:127.0.0.1:{world.datagrams}@bob", "--udp") as (_, port),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock,
    ):
        sock.settimeout(20)
        sock.sendto(b"question", ("127.0.0.1", port))
        assert sock.recv(100) == b"question"


def test_datagrams_to_where_no_rule_allows_are_dropped_and_said(world: World) -> None:
    with (
        world.door("forward", f"0:127.0.0.1:{world.forbidden}@bob", "--udp") as (door, port),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock,
    ):
        sock.sendto(b"question", ("127.0.0.1", port))
        assert "no rule allows it" in door.error_line()


def test_a_port_of_the_exit_leads_here(world: World) -> None:
    forwarding = f"{world.bound}:127.0.0.1:{world.echoes}@bob"
    with world.door("forward", forwarding, "--reverse") as (door, port):
        assert port == world.bound
        with connected(port) as session:
            session.sendall(b"from afar")
            assert received(session, 9) == b"from afar"
        door.signal(signal.SIGINT)
        assert door.wait() == 0
    until(lambda: refuses(world.bound))


def test_a_serial_line_is_a_port_here(world: World) -> None:
    with world.door("forward", "0:meter@bob", "--serial") as (_, port), connected(port) as session:
        session.sendall(b"read\r")
        assert os.read(world.line, 100) == b"read\r"
        os.write(world.line, b"42 kWh\r")
        assert received(session, 7) == b"42 kWh\r"


def test_wrong_wishes_end_with_a_word_about_them(world: World, tmp_path: Path) -> None:
    place = f"127.0.0.1:{world.pages}"
    nobody = world.ask("forward", f"0:{place}@nobody")
    assert (nobody.code, "known: " in nobody.complaint()) == (2, True)
    taken = world.ask("forward", f"{world.pages}:{place}@bob")
    assert (taken.code, "already in use" in taken.complaint()) == (2, True)
    open_to_all = world.ask("socks", "--listen", "0.0.0.0:0", "--exit", "bob")
    assert (open_to_all.code, "password" in open_to_all.complaint()) == (2, True)
    denied = world.ask("forward", f"{world.echoes}:{place}@bob", "--reverse")
    assert denied.code == 4
    assert "--exit 'bind tcp" in denied.complaint()
    anywhere = world.ask("forward", f"0:{place}@auto", "--reverse")
    assert (anywhere.code, "name it" in anywhere.complaint()) == (2, True)
    alone = rookery("socks", "--exit", "bob", "--id", tmp_path)
    assert (alone.code, "no node is running" in alone.complaint()) == (3, True)


def test_a_long_session_outlives_the_relay_that_carries_it(world: World) -> None:
    """M5, M6. The last test: one relay is gone after it."""
    with (
        world.door("forward", f"0:127.0.0.1:{world.echoes}@bob") as (_, port),
        connected(port) as session,
    ):
        until(lambda: len(ways(world)) == 2)
        for number in range(50):
            if number == 10:
                node = world.nodes[ways(world)[0]]
                node.signal(signal.SIGKILL)
                node.wait()
            line = b"%06d\n" % number * 1000
            session.sendall(line)
            assert received(session, len(line)) == line
    assert len(ways(world)) == 1
